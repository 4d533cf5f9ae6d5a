"""Settings of `kubeglance serve`: one frozen value, validated whole. Flags, KUBEGLANCE_* and --settings-file fill it.

Field names are flag names with underscores. Names and meanings of metrics-server's flags are kept where the meaning is the same.
A field says what it is in its description (docs/flags.md is made from it); rules between fields are the table RULES, so that all
faults can be told at once. How values get here is the business of app/cli/sources.py.
"""

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.duration import parse_duration
from app.tls_suites import is_suite

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""The types of node.status.addresses (core/v1 NodeAddressType)."""

BROKEN_RULES = "kubeglance_rules"
"""The error type under which pydantic reports broken RULES; ctx["broken"] is a list of (fields, message)."""


_DAY = 86400.0
_GROUP_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _boolean(value: Any) -> Any:
    """True and false as Go's strconv.ParseBool reads them."""
    if not isinstance(value, str):
        return value
    if value in {"1", "t", "T", "true", "TRUE", "True"}:
        return True
    if value in {"0", "f", "F", "false", "FALSE", "False"}:
        return False
    raise ValueError(f'"{value}" is not a boolean: write true or false')


def _integer(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    digits = value.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):  # no int64 has more
        raise ValueError(f'"{value}" is not a whole number')
    if len(digits) > 1 and digits[0] == "0":
        raise ValueError(f'"{value}" begins with a zero, which some programs read as octal: leave it out')
    return int(value)


def _seconds(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _items(value: Any) -> Any:
    """A list, or text with commas."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    """A list, or text with one item a line: for items that may have commas."""
    return tuple(line.strip() for line in value.splitlines() if line.strip()) if isinstance(value, str) else value


def _no_path(value: Any) -> Any:
    """The empty text is Go's way to say that a file is not set."""
    return None if value == "" else value


def _ip(value: str) -> str:
    """An address to listen on; the empty text means all addresses, as in metrics-server."""
    if value == "":
        return "0.0.0.0"  # noqa: S104
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise ValueError(f'"{value}" is not an IP address; use 0.0.0.0 or :: for all addresses') from None
    return value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or any(char.isspace() for char in value):
        raise ValueError("must be a URL such as https://prometheus.monitoring.svc:9090")
    if "@" in parts.netloc:
        raise ValueError("must have no credentials in it: give them by a file or a header")
    if parts.port == 0:  # asking for it raises ValueError for what is none
        raise ValueError("the port must be from 1 to 65535")
    return value


def _headers(value: tuple[str, ...]) -> tuple[str, ...]:
    for header in value:
        name, equals, text = header.partition("=")
        if not equals or re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is None or not (text.isascii() and text.isprintable()):
            raise ValueError("must be headers such as X-Scope-OrgID=tenant: a name, =, and one line of printable ASCII")
    return value


def _suites(value: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in value if not is_suite(name)]
    if unknown:
        raise ValueError(f"unknown cipher suite {', '.join(unknown)}: write IANA names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    return value


def _group(value: str) -> str:
    if len(value) > 253 or "." not in value or not all(_GROUP_LABEL.fullmatch(label) for label in value.split(".")):
        raise ValueError(f'"{value}" is not an API group: write one such as apps.example.com')
    if value.endswith((".k8s.io", ".kubernetes.io", ".kubeglance.io")):
        raise ValueError(f'"{value}" is reserved: choose a group of your own, such as apps.example.com')
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ipaddress.ip_network(network)
        except ValueError as exc:
            raise ValueError(f"{exc}: write networks such as 169.254.20.10/32 or fe80::/64") from None
    return value


def _address_types(value: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in value if name not in ADDRESS_TYPES]
    if unknown:
        raise ValueError(f"unknown address type {', '.join(unknown)}; known are {', '.join(ADDRESS_TYPES)}")
    if not value:
        raise ValueError(f"needs at least one of {', '.join(ADDRESS_TYPES)}")
    return tuple(dict.fromkeys(value))


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be longer than 0s")
    return value


def _not_negative(value: float) -> float:
    if value < 0:
        raise ValueError("must not be negative")
    return value


def _at_least_a_second(value: float) -> float:
    if value < 1:
        raise ValueError("must be at least 1s: a kubelet's own statistics change every 10s to 20s, so that more asking brings nothing new")
    return value


def _at_most_a_day(value: float) -> float:
    if value > _DAY:
        raise ValueError("must be at most 24h")
    return value


LINES = AfterValidator(_headers)
"""Marks a setting whose items are lines, in variables and files, and flags of their own."""

Seconds = Annotated[float, BeforeValidator(_seconds), Field(allow_inf_nan=False), AfterValidator(_at_most_a_day)]
Interval = Annotated[Seconds, AfterValidator(_at_least_a_second)]
Deadline = Annotated[Seconds, AfterValidator(_positive)]
Delay = Annotated[Seconds, AfterValidator(_not_negative)]
Boolean = Annotated[bool, BeforeValidator(_boolean)]
Integer = Annotated[int, BeforeValidator(_integer)]
Port = Annotated[Integer, Field(ge=1, le=65535)]
File = Annotated[Path | None, BeforeValidator(_no_path)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_items)]
Address = Annotated[str, AfterValidator(_ip)]
Networks = Annotated[tuple[str, ...], BeforeValidator(_items), AfterValidator(_networks)]
Url = Annotated[str, AfterValidator(_url)]
Headers = Annotated[tuple[str, ...], BeforeValidator(_lines), LINES]
Suites = Annotated[tuple[str, ...], BeforeValidator(_items), AfterValidator(_suites)]
AddressTypes = Annotated[tuple[str, ...], BeforeValidator(_items), AfterValidator(_address_types)]


def _about(text: str) -> Any:
    """The sentence that --help and docs/flags.md show for a field."""
    return Field(description=text)


class Settings(BaseModel):
    """Every field has a unit and a default; every float is a duration, in seconds. docs/flags.md is checked against this class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Serving
    bind_address: Annotated[Address, _about("IP address to listen on; 0.0.0.0 or :: for all.")] = "0.0.0.0"  # noqa: S104
    secure_port: Annotated[Port, _about("Port for HTTPS.")] = 10250
    cert_dir: Annotated[Path, _about("Folder of the self-signed serving certificate that is made when no certificate is given.")] = Path(
        "apiserver.local.config/certificates"
    )
    tls_cert_file: Annotated[File, _about("Serving certificate (PEM, leaf first); read again when it changes.")] = None
    tls_private_key_file: Annotated[File, _about("Private key of the serving certificate (PEM).")] = None
    tls_cipher_suites: Annotated[
        Suites, _about("Cipher suites of TLS 1.2, by their IANA names; without it those of OpenSSL. Those of TLS 1.3 are always offered.")
    ] = ()
    tls_min_version: Annotated[
        Literal["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"],
        _about("Lowest version of TLS: VersionTLS12 or VersionTLS13; older ones are never offered."),
    ] = ""
    max_requests_inflight: Annotated[
        Integer, Field(ge=0), _about("Requests served at one time; more get 429. Discovery and health are never refused. 0 is no limit.")
    ] = 400
    shutdown_delay_duration: Annotated[
        Delay, _about("After SIGTERM: how long to go on serving, unready, so that the endpoint is taken out before the port closes.")
    ] = 10.0
    # kube-apiserver
    kubeconfig: Annotated[File, _about("Kubeconfig for kube-apiserver and kubelets; without it the pod's ServiceAccount.")] = None
    authentication_kubeconfig: Annotated[File, _about("Kubeconfig for TokenReviews, if another than --kubeconfig.")] = None
    authorization_kubeconfig: Annotated[File, _about("Kubeconfig for SubjectAccessReviews, if another than --kubeconfig.")] = None
    # Kubelets
    metric_resolution: Annotated[Interval, _about("How often each kubelet's /metrics/resource is asked.")] = 15.0
    kubelet_request_timeout: Annotated[Deadline, _about("Deadline of one scrape of /metrics/resource.")] = 10.0
    kubelet_resource: Annotated[Boolean, _about("Whether /metrics/resource is asked.")] = True
    kubelet_summary: Annotated[Boolean, _about("Whether /stats/summary is asked.")] = True
    kubelet_summary_interval: Annotated[Interval, _about("How often each kubelet's /stats/summary is asked.")] = 30.0
    kubelet_summary_timeout: Annotated[Deadline, _about("Deadline of one scrape of /stats/summary.")] = 10.0
    live_kinds: Annotated[
        Boolean, _about("Whether nodestats, podstats, containerstats and volumestats are served; else /stats/summary is asked in short.")
    ] = True
    kubelet_port: Annotated[Port, _about("Port of the kubelets.")] = 10250
    kubelet_use_node_status_port: Annotated[Boolean, _about("Use the port in a node's status where it has one.")] = False
    kubelet_preferred_address_types: Annotated[
        AddressTypes, _about("Types of node addresses, best first; the next is tried when one cannot be reached.")
    ] = ("InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname")
    kubelet_insecure_tls: Annotated[Boolean, _about("Do not verify kubelets' serving certificates. For tests only.")] = False
    kubelet_certificate_authority: Annotated[File, _about("CA for kubelets' serving certificates; without it the cluster's CA.")] = None
    kubelet_client_certificate: Annotated[File, _about("Client certificate for kubelets; without it the ServiceAccount's token.")] = None
    kubelet_client_key: Annotated[File, _about("Private key of the client certificate for kubelets.")] = None
    # Declared kinds
    declarations: Annotated[
        Paths, _about("Files and folders with declarations of live kinds (LiveResource); read again when they change.")
    ] = ()
    declaration_config_maps: Annotated[
        Boolean,
        _about(
            "Whether declarations are read from ConfigMaps with the label kubeglance.io/declarations=true too, of --namespace and tenants."
        ),
    ] = False
    tenants: Annotated[
        File,
        _about("YAML file: which other namespaces may declare kinds, in which API groups, of which hosts; read again when it changes."),
    ] = None
    namespace: Annotated[str, _about("Namespace that kubeglance runs in; without it that of the pod's ServiceAccount.")] = ""
    service: Annotated[str, _about("Name of kubeglance's own Service there: API groups that lead to another are not declared.")] = (
        "kubeglance"
    )
    cozystack: Annotated[
        Boolean, _about("Whether each ApplicationDefinition of Cozystack in the cluster is served as a kind, from its HelmReleases.")
    ] = False
    cozystack_group: Annotated[str, AfterValidator(_group), _about("API group in which they are served.")] = "apps.cozystack.io"
    # Sources of declared kinds
    secret_dir: Annotated[File, _about("Folder of the files that valueFrom.file may name.")] = None
    secret_env_prefix: Annotated[
        str, Field(min_length=1), _about("What the names of variables begin with that valueFrom.env may name.")
    ] = "SOURCE_"  # noqa: S105 -- no password
    source_dir: Annotated[File, _about("Folder of the files that sources may read, such as SQLite databases.")] = None
    prometheus_servers: Annotated[
        File, _about("YAML file of Prometheus servers by name, for declarations to name: url, auth, tls, headers, method.")
    ] = None
    metric_routes: Annotated[
        File, _about("YAML file of metrics, or namespaces, for which other adapters of the cluster are asked; read again when it changes.")
    ] = None
    source_allowed_networks: Annotated[
        Networks, _about("Networks that sources may reach although they are link-local or of metadata services, such as 169.254.20.10/32.")
    ] = ()
    # prometheus-adapter's
    config: Annotated[
        File,
        _about(
            "prometheus-adapter's configuration file, whose rules are served as custom and external metrics; read again when it changes."
        ),
    ] = None
    prometheus_url: Annotated[Url, _about("Prometheus that the rules of --config are asked of.")] = "https://localhost"
    prometheus_verb: Annotated[Literal["GET", "POST"], _about("How Prometheus is asked: GET, or POST for long queries.")] = "GET"
    prometheus_auth_incluster: Annotated[
        Boolean, _about("Whether Prometheus is asked with the token and the CA of the pod's ServiceAccount.")
    ] = False
    prometheus_auth_config: Annotated[File, _about("Kubeconfig with the credentials and the CA for Prometheus.")] = None
    prometheus_ca_file: Annotated[File, _about("CA of Prometheus' certificate (PEM); read again when it changes.")] = None
    prometheus_client_tls_cert_file: Annotated[File, _about("Client certificate for Prometheus (PEM); read again when it changes.")] = None
    prometheus_client_tls_key_file: Annotated[File, _about("Private key of the client certificate for Prometheus (PEM).")] = None
    prometheus_token_file: Annotated[File, _about("File of the bearer token for Prometheus; read for each request.")] = None
    prometheus_header: Annotated[Headers, _about("Header for Prometheus, NAME=VALUE; may be given several times.")] = ()
    metrics_relist_interval: Annotated[
        Seconds, AfterValidator(_positive), _about("How often the series of Prometheus are listed anew.")
    ] = 600.0
    metrics_max_age: Annotated[Delay, _about("Series without a sample for so long are not listed; 0s is --metrics-relist-interval.")] = 0.0
    prometheus_query_interval: Annotated[
        Seconds, AfterValidator(_positive), _about("How often a metric of --config is asked of Prometheus, while somebody asks for it.")
    ] = 15.0
    # Logs
    logging_format: Annotated[Literal["text", "json"], _about("Form of the log on standard error: text or json.")] = "text"
    v: Annotated[Integer, Field(ge=0), _about("Log level: from 4 also debug messages, from 6 those of the libraries too.")] = 0

    @property
    def serves_live(self) -> bool:
        """Whether anything live is served, and so the kind that tells how sources are. Without it kubeglance is what metrics-server is."""
        sources = (self.declarations, self.declaration_config_maps, self.cozystack, self.config, self.metric_routes)
        return bool(self.live_kinds or any(sources))

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        broken = [(rule.fields, text) for rule in RULES if (text := rule.fault(self)) is not None]
        if broken:
            raise PydanticCustomError(BROKEN_RULES, "{text}", {"broken": broken, "text": "; ".join(text for _, text in broken)})
        return self


class Rule(NamedTuple):
    """What must hold between `fields`. `fault` gives None, or what is wrong and what to do, in flag names."""

    fields: tuple[str, ...]
    fault: Callable[[Settings], str | None]


def _pair(one: str, other: str) -> Rule:
    """Both files or neither."""

    def fault(settings: Settings) -> str | None:
        if (getattr(settings, one) is None) == (getattr(settings, other) is None):
            return None
        given, missing = (one, other) if getattr(settings, one) is not None else (other, one)
        return f"{flag_name(given)} needs {flag_name(missing)} too: give both or neither"

    return Rule((one, other), fault)


def _share_of_interval(timeout: str, interval: str) -> Rule:
    """A scrape must end before the next one is due; 0.9 is metrics-server's bound."""

    def fault(settings: Settings) -> str | None:
        limit = 0.9 * getattr(settings, interval)
        if getattr(settings, timeout) <= limit + 1e-9:
            return None
        return (
            f"{flag_name(timeout)} ({getattr(settings, timeout):g}s) must be at most 0.9 x {flag_name(interval)} ({limit:g}s), "
            "so that a scrape ends before the next one is due"
        )

    return Rule((timeout, interval), fault)


def _insecure_excludes_ca(settings: Settings) -> str | None:
    if settings.kubelet_insecure_tls and settings.kubelet_certificate_authority is not None:
        return "--kubelet-insecure-tls and --kubelet-certificate-authority exclude each other: with a CA, remove --kubelet-insecure-tls"
    return None


def _some_source(settings: Settings) -> str | None:
    if not (settings.kubelet_resource or settings.kubelet_summary or settings.config):
        return (
            "--kubelet-resource and --kubelet-summary are both off: nothing would be collected; leave one on, "
            "or give --config a file with resourceRules"
        )
    return None


def _tenants_have_config_maps(settings: Settings) -> str | None:
    if settings.tenants is not None and not settings.declaration_config_maps:
        return "--tenants is about ConfigMaps of other namespaces, which are not read: give --declaration-config-maps too"
    return None


def _one_way_to_prometheus(settings: Settings) -> str | None:
    if settings.prometheus_auth_incluster and settings.prometheus_auth_config is not None:
        return "--prometheus-auth-incluster and --prometheus-auth-config exclude each other: remove one"
    return None


def _series_outlive_a_relist(settings: Settings) -> str | None:
    if 0 < settings.metrics_max_age < settings.metrics_relist_interval:
        return "--metrics-max-age must not be shorter than --metrics-relist-interval: metrics would come and go"
    return None


RULES = (
    _pair("prometheus_client_tls_cert_file", "prometheus_client_tls_key_file"),
    Rule(("prometheus_auth_incluster", "prometheus_auth_config"), _one_way_to_prometheus),
    Rule(("metrics_max_age", "metrics_relist_interval"), _series_outlive_a_relist),
    _pair("tls_cert_file", "tls_private_key_file"),
    _pair("kubelet_client_certificate", "kubelet_client_key"),
    _share_of_interval("kubelet_request_timeout", "metric_resolution"),
    _share_of_interval("kubelet_summary_timeout", "kubelet_summary_interval"),
    Rule(("kubelet_insecure_tls", "kubelet_certificate_authority"), _insecure_excludes_ca),
    Rule(("kubelet_resource", "kubelet_summary", "config"), _some_source),
    Rule(("tenants", "declaration_config_maps"), _tenants_have_config_maps),
)


def flag_name(field: str) -> str:
    """The flag of a field: metric_resolution -> --metric-resolution."""
    return f"--{field.replace('_', '-')}"
