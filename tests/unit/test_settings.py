"""app/settings.py: what values a setting takes, and what must hold between settings."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.settings import BROKEN_RULES, RULES, Settings, flag_name


def test_defaults_obey_all_rules() -> None:
    """The defaults are a valid whole."""
    assert Settings().metric_resolution == 15.0


def test_every_field_has_a_description_and_a_default() -> None:
    """--help and docs/flags.md are made from the fields, so each must say what it is."""
    assert [] == [name for name, field in Settings.model_fields.items() if not field.description or field.is_required()]


def test_settings_are_frozen() -> None:
    """Nobody changes a setting after start."""
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.v = 3


@pytest.mark.parametrize(
    ("field", "raw", "expected"),
    [
        pytest.param("metric_resolution", "1m30s", 90.0, id="duration-in-go-form"),
        pytest.param("metric_resolution", 20, 20.0, id="duration-as-a-number-from-code"),
        pytest.param("metric_resolution", "12s", 12.0, id="duration-plain"),
        pytest.param("metric_resolution", "24h", 86400.0, id="a-day"),
        pytest.param("v", "0", 0, id="zero"),
        pytest.param("shutdown_delay_duration", "0", 0.0, id="zero-needs-no-unit"),
        pytest.param("kubelet_summary", "F", False, id="go-boolean"),
        pytest.param("kubelet_insecure_tls", "TRUE", True, id="go-boolean-upper"),
        pytest.param("kubelet_preferred_address_types", "Hostname, InternalIP", ("Hostname", "InternalIP"), id="list-with-commas"),
        pytest.param("kubelet_preferred_address_types", "Hostname,Hostname", ("Hostname",), id="list-once-each"),
        pytest.param("kubeconfig", "", None, id="empty-path-is-unset"),
        pytest.param("cert_dir", "/tmp", Path("/tmp"), id="path"),
        pytest.param("bind_address", "::", "::", id="ipv6"),
        pytest.param("bind_address", "", "0.0.0.0", id="empty-address-is-all"),
        pytest.param("secure_port", "4443", 4443, id="port"),
        pytest.param("logging_format", "json", "json", id="json-logs"),
        pytest.param("source_allowed_networks", "169.254.20.10/32, fe80::/64", ("169.254.20.10/32", "fe80::/64"), id="networks"),
    ],
)
def test_values_are_read_as_metrics_server_reads_them(field: str, raw: Any, expected: Any) -> None:
    """Text from flags, variables and files becomes the field's own type."""
    assert expected == getattr(Settings(**{field: raw}), field)


@pytest.mark.parametrize(
    ("field", "raw", "said"),
    [
        pytest.param("metric_resolution", "15", "is not a duration", id="duration-without-unit"),
        pytest.param("metric_resolution", "500ms", "at least 1s", id="too-often"),
        pytest.param("metric_resolution", "-15s", "at least 1s", id="negative-interval"),
        pytest.param("kubelet_request_timeout", "0s", "longer than 0s", id="no-deadline"),
        pytest.param("shutdown_delay_duration", "-1s", "must not be negative", id="negative-delay"),
        pytest.param("metric_resolution", float("nan"), "finite", id="nan"),
        pytest.param("metric_resolution", "24h1s", "at most 24h", id="too-seldom"),
        pytest.param("kubelet_request_timeout", "1000000h", "at most 24h", id="endless-deadline"),
        pytest.param("shutdown_delay_duration", "25h", "at most 24h", id="endless-delay"),
        pytest.param("metric_resolution", "9" * 400 + "h", "finite", id="beyond-all-numbers"),
        pytest.param("secure_port", "010", "begins with a zero", id="octal-or-not"),
        pytest.param("secure_port", "65536", "less than or equal to 65535", id="port-too-high"),
        pytest.param("kubelet_port", "0", "greater than or equal to 1", id="port-zero"),
        pytest.param("kubelet_port", "1_0", "not a whole number", id="python-number"),
        pytest.param("kubelet_summary", "yes", "write true or false", id="not-a-go-boolean"),
        pytest.param("bind_address", "localhost", "not an IP address", id="name-for-address"),
        pytest.param("kubelet_preferred_address_types", "InternalIp", "unknown address type InternalIp", id="address-type"),
        pytest.param("kubelet_preferred_address_types", "", "needs at least one", id="no-address-type"),
        pytest.param("logging_format", "xml", "'text' or 'json'", id="log-format"),
        pytest.param("source_allowed_networks", "10.0.0.1/8", "write networks such as 169.254.20.10/32", id="network-with-host-bits"),
        pytest.param("secret_env_prefix", "", "at least 1 character", id="all-variables-are-no-prefix"),
        pytest.param("max_requests_inflight", "-1", "greater than or equal to 0", id="negative-limit"),
        pytest.param("prometheus_url", "http://p:99999", "Port out of range", id="no-port"),
        pytest.param("prometheus_url", "http://p:0", "must be from 1 to 65535", id="port-zero"),
    ],
)
def test_wrong_values_are_told(field: str, raw: Any, said: str) -> None:
    """A wrong value says what is expected instead."""
    with pytest.raises(ValidationError) as error:
        Settings(**{field: raw})

    assert said in error.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"tls_cert_file": "a"}, "--tls-cert-file needs --tls-private-key-file", id="certificate-without-key"),
        pytest.param({"tls_private_key_file": "a"}, "--tls-private-key-file needs --tls-cert-file", id="key-without-certificate"),
        pytest.param({"kubelet_client_key": "a"}, "--kubelet-client-key needs --kubelet-client-certificate", id="client-key-alone"),
        pytest.param({"metric_resolution": "10s"}, "at most 0.9 x --metric-resolution (9s)", id="deadline-too-long"),
        pytest.param({"kubelet_summary_timeout": "28s"}, "at most 0.9 x --kubelet-summary-interval (27s)", id="summary-deadline"),
        pytest.param({"kubelet_insecure_tls": True, "kubelet_certificate_authority": "ca"}, "exclude each other", id="insecure-with-a-ca"),
        pytest.param({"kubelet_resource": False, "kubelet_summary": False}, "nothing would be collected", id="no-source"),
        pytest.param({"tenants": "a"}, "give --declaration-config-maps too", id="tenants-without-config-maps"),
    ],
)
def test_rules_between_settings(values: dict[str, Any], said: str) -> None:
    """What does not fit together is refused, with the flags' names and what to do."""
    with pytest.raises(ValidationError) as error:
        Settings(**values)

    (detail,) = error.value.errors()
    assert BROKEN_RULES == detail["type"]
    assert said in detail["msg"]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"metric_resolution": "10s", "kubelet_request_timeout": "9s"}, id="deadline-at-the-bound"),
        pytest.param({"tls_cert_file": "a", "tls_private_key_file": "b"}, id="both-of-a-pair"),
        pytest.param({"kubelet_insecure_tls": True}, id="insecure-alone"),
        pytest.param({"kubelet_resource": False}, id="one-source"),
        pytest.param({"tenants": "a", "declaration_config_maps": True}, id="tenants-and-config-maps"),
    ],
)
def test_what_fits_together_is_accepted(values: dict[str, Any]) -> None:
    """The bounds themselves are allowed."""
    Settings(**values)


def test_all_broken_rules_are_told_at_once() -> None:
    """Two broken rules are two lines."""
    with pytest.raises(ValidationError) as error:
        Settings(tls_cert_file=Path("a"), kubelet_client_key=Path("b"))

    assert 2 == len(error.value.errors()[0]["ctx"]["broken"])


def test_rules_name_fields_that_exist() -> None:
    """A rule about a field that is no more would never be told."""
    assert {field for rule in RULES for field in rule.fields} <= set(Settings.model_fields)


def test_flag_names() -> None:
    """A field's flag has dashes."""
    assert "--metric-resolution" == flag_name("metric_resolution")


@given(st.sampled_from(sorted(Settings.model_fields)), st.text(max_size=40))
def test_no_text_breaks_a_setting(field: str, raw: str) -> None:
    """Whatever is written, a setting takes it or refuses it; nothing else is raised."""
    with contextlib.suppress(ValidationError):
        Settings.model_validate({field: raw})
