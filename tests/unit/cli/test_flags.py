"""app/cli/flags.py: Go-style flags from Settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.flags import all_flags, parse
from app.cli.metrics_server_flags import FLAGS, HONOURED, Class, refusal
from app.settings import Settings

RELEASED_ADAPTER = [
    "--cert-dir=/var/run/serving-cert",
    "--config=/etc/adapter/config.yaml",
    "--metrics-relist-interval=1m",
    "--prometheus-url=https://prometheus.monitoring.svc:9090/",
    "--secure-port=6443",
    (
        "--tls-cipher-suites="
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,"
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,"
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,"
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,TLS_RSA_WITH_AES_128_GCM_SHA256,"
        "TLS_RSA_WITH_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_128_CBC_SHA,TLS_RSA_WITH_AES_256_CBC_SHA"
    ),
]
"""The args of prometheus-adapter v0.12.0's deployment.yaml."""

RELEASED = (
    "--cert-dir=/tmp",
    "--secure-port=10250",
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
    "--kubelet-use-node-status-port",
    "--metric-resolution=15s",
)
"""The args of metrics-server v0.9.0's components.yaml."""


def test_every_setting_has_a_flag() -> None:
    """Flags derive from Settings: none is missing, none is extra."""
    assert list(Settings.model_fields) == [flag.field for flag in all_flags()]


def test_flags_tell_type_and_default_as_a_user_writes_them() -> None:
    """Durations are shown in Go's notation, lists with commas."""
    flags = {flag.name: (flag.type, flag.default) for flag in all_flags()}

    assert ("duration", "15s") == flags["--metric-resolution"]
    assert ("strings", "InternalIP,ExternalIP,InternalDNS,ExternalDNS,Hostname") == flags["--kubelet-preferred-address-types"]
    assert ("bool", "true") == flags["--kubelet-summary"]
    assert ("file", "") == flags["--tls-cert-file"]
    assert ("int", "10250") == flags["--secure-port"]
    assert ("string", "text") == flags["--logging-format"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param(["--kubelet-port=1"], {"kubelet_port": "1"}, id="equals"),
        pytest.param(["--kubelet-port", "1"], {"kubelet_port": "1"}, id="space"),
        pytest.param(["--kubelet-insecure-tls"], {"kubelet_insecure_tls": "true"}, id="switch"),
        pytest.param(["--kubelet-summary=false"], {"kubelet_summary": "false"}, id="switch-off"),
        pytest.param(["--kubelet-port=1", "--kubelet-port=2"], {"kubelet_port": "2"}, id="last-wins"),
        pytest.param(
            ["--kubelet-preferred-address-types=A", "--kubelet-preferred-address-types=B,C"],
            {"kubelet_preferred_address_types": "A,B,C"},
            id="lists-grow",
        ),
        pytest.param(["--v=4"], {"v": "4"}, id="v-long"),
        pytest.param(["-v", "4"], {"v": "4"}, id="v-space"),
        pytest.param(["-v=4"], {"v": "4"}, id="v-equals"),
        pytest.param(["-v4"], {"v": "4"}, id="v-joined"),
        pytest.param(["--kubeconfig=a=b"], {"kubeconfig": "a=b"}, id="equals-in-the-value"),
        pytest.param(["--kubeconfig="], {"kubeconfig": ""}, id="empty-value"),
        pytest.param(["--kubeconfig", "-"], {"kubeconfig": "-"}, id="value-that-looks-like-a-flag"),
    ],
)
def test_flags_are_read_as_pflag_reads_them(argv: list[str], expected: dict[str, str]) -> None:
    """The notations of Go programs work."""
    arguments = parse(argv)

    assert [] == arguments.faults
    assert expected == arguments.values


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["--metric-resolutoin=5s"], "--metric-resolutoin: unknown flag; did you mean --metric-resolution?", id="nearest"),
        pytest.param(["--zzz"], "--zzz: unknown flag", id="nothing-near"),
        pytest.param(["-kubelet-port=1"], "-kubelet-port: long flags begin with two dashes: write --kubelet-port", id="single-dash"),
        pytest.param(["-x"], "-x: unknown flag; long flags begin with two dashes", id="unknown-short"),
        pytest.param(["--kubelet-port"], "--kubelet-port: needs a value: write --kubelet-port=VALUE", id="no-value"),
        pytest.param(["serve"], '"serve": is no flag', id="positional"),
        pytest.param(["--audit-log-path=-"], "--audit-log-path: a flag of metrics-server that kubeglance does not have", id="weakens"),
        pytest.param(["--node-selector=a=b"], "--node-selector: a flag of metrics-server that kubeglance does not have yet", id="planned"),
        pytest.param(["-l", "a=b"], "-l: a flag of metrics-server that kubeglance does not have yet", id="planned-short"),
        pytest.param(["--deprecated-kubelet-completely-insecure"], "kubelets are asked over HTTPS only", id="own-words"),
    ],
)
def test_what_cannot_be_used_is_told_once(argv: list[str], said: str) -> None:
    """One line: what, why, what to do. The value of an unknown flag is not told as a second fault."""
    (fault,) = parse(argv).faults

    assert said in fault


def test_all_faults_are_told() -> None:
    """A wrong flag does not hide the next one."""
    assert 3 == len(parse(["--nope", "--audit-log-path=-", "-kubelet-port", "--v=1"]).faults)


def test_the_arguments_of_metrics_servers_release_are_accepted() -> None:
    """components.yaml works with only its image changed."""
    arguments = parse(RELEASED)

    assert [] == arguments.faults
    assert 5 == len(arguments.values)


def test_the_arguments_of_prometheus_adapters_release_are_accepted() -> None:
    """deploy/manifests/deployment.yaml of v0.12.0 works with only its image changed."""
    arguments = parse(RELEASED_ADAPTER)
    settings = Settings.model_validate(arguments.values)

    assert ([], []) == (arguments.faults, arguments.warnings)
    assert ("/etc/adapter/config.yaml", 60.0, 6443) == (str(settings.config), settings.metrics_relist_interval, settings.secure_port)


@pytest.mark.parametrize("word", ["--profiling=false", "--logtostderr=true", "--client-qps=1000", "--disable-http2", "--log_dir=x"])
def test_what_kubeglance_has_no_use_for_is_ignored_with_a_warning(word: str) -> None:
    """Flags of metrics-server and of prometheus-adapter whose absence changes nothing."""
    arguments = parse([word, "--v=1"])

    assert ([], {"v": "1"}, 1) == (arguments.faults, arguments.values, len(arguments.warnings))
    assert "it is ignored" in arguments.warnings[0]


def test_headers_for_prometheus_may_have_commas_and_be_several() -> None:
    """Each is a flag of its own, or a line of a variable."""
    arguments = parse(["--prometheus-header=Accept-Language=de, en", "--prometheus-header", "X-Scope-OrgID=a"])

    assert ("Accept-Language=de, en", "X-Scope-OrgID=a") == Settings.model_validate(arguments.values).prometheus_header


def test_the_kubeconfig_of_the_adapter_is_ours() -> None:
    """It has one for what it lists, and so do we."""
    assert {"kubeconfig": "/x"} == parse(["--lister-kubeconfig=/x"]).values


def test_help_version_and_settings_file_are_no_settings() -> None:
    """They say what to do, not how to serve."""
    arguments = parse(["--help", "--version", "--settings-file", "x.yaml"])

    assert (True, True, "x.yaml", {}) == (arguments.help, arguments.version, arguments.settings_file, arguments.values)


def test_all_documented_flags_of_metrics_server_have_a_class() -> None:
    """v0.9.0 documents 103 flags."""
    assert 103 == len(FLAGS)


def test_implemented_flags_are_exactly_those_that_settings_has() -> None:
    """What is called implemented works, and what works is called so."""
    ours = {name.replace("_", "-") for name in Settings.model_fields} | {"version"}

    assert ours & set(FLAGS) == {name for name, kind in FLAGS.items() if kind is Class.IMPLEMENTED}


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_flags_that_are_not_implemented_are_refused(name: str) -> None:
    """None of a class that is not honoured is silently accepted."""
    assert (FLAGS[name] in HONOURED) == (refusal(name) is None)


@given(
    st.lists(
        st.one_of(st.text(max_size=12), st.sampled_from([flag.name for flag in all_flags()]), st.sampled_from(["-v", "="])), max_size=6
    )
)
def test_no_arguments_break_the_parser(argv: list[str]) -> None:
    """Whatever is typed ends in values or in lines for the user."""
    arguments = parse(argv)

    assert all(arguments.faults)
    assert set(arguments.values) <= set(Settings.model_fields)


@pytest.mark.parametrize("word", ["--secure-port", "-v", "--settings-file"])
def test_a_missing_value_is_one_fault(word: str) -> None:
    """It is not the empty value too."""
    arguments = parse([word])

    assert (1, {}) == (len(arguments.faults), arguments.values)
