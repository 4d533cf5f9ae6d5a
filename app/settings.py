"""Settings of `kubeglance serve`: one frozen value, validated whole. Flags, KUBEGLANCE_* and --settings-file fill it.

Field names are flag names with underscores. Names and meanings of metrics-server's flags are kept where the meaning is the same.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Every field has a unit and a default; see docs/flags.md, which is checked against this class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Serving
    bind_address: str = "0.0.0.0"  # noqa: S104
    secure_port: int = 10250
    cert_dir: Path = Path("apiserver.local.config/certificates")
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    max_requests_inflight: int = 400
    shutdown_delay_duration: float = 10.0  # seconds
    # kube-apiserver
    kubeconfig: Path | None = None
    authentication_kubeconfig: Path | None = None
    authorization_kubeconfig: Path | None = None
    # Kubelets
    metric_resolution: float = 15.0  # seconds; the interval of the resource collector
    kubelet_request_timeout: float = 10.0  # seconds; the deadline of one scrape
    kubelet_resource: bool = True
    kubelet_summary: bool = True
    kubelet_summary_interval: float = 30.0  # seconds
    kubelet_summary_timeout: float = 10.0  # seconds
    kubelet_port: int = 10250
    kubelet_use_node_status_port: bool = False
    kubelet_preferred_address_types: tuple[str, ...] = ("InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname")
    kubelet_insecure_tls: bool = False
    kubelet_certificate_authority: Path | None = None
    kubelet_client_certificate: Path | None = None
    kubelet_client_key: Path | None = None
    # Logs
    logging_format: str = "text"
    v: int = 0
