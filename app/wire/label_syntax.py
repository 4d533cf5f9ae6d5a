"""What may stand in a label key and a label value (k8s.io/apimachinery/pkg/api/validate/content), with upstream's texts."""

import re

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_NAME_RE, _SUBDOMAIN_RE = re.compile(_NAME), re.compile(_SUBDOMAIN)
_NAME_TEXT = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_EXAMPLES = f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({_NAME})?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def faults_of_key(key: str) -> str:
    """What is wrong with a label key, "" if nothing is. Faults are joined by "; "."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return f"a valid label key {_NAME_TEXT} {_NAME_EXAMPLES} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        if len(prefix.encode()) > 253:
            faults.append("prefix part must be no more than 253 bytes")
        if _SUBDOMAIN_RE.fullmatch(prefix) is None:
            faults.append(f"prefix part {_SUBDOMAIN_TEXT}")
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if _NAME_RE.fullmatch(name) is None:
        faults.append(f"name part {_NAME_TEXT} {_NAME_EXAMPLES}")
    return "; ".join(faults)


def faults_of_value(value: str) -> str:
    """What is wrong with a label value, "" if nothing is. The empty value is a value."""
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if value and _NAME_RE.fullmatch(value) is None:
        faults.append(_VALUE_TEXT)
    return "; ".join(faults)
