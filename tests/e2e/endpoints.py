"""Endpoints of a Service without selector, kept as a cluster keeps them: a prober asks /readyz, the EndpointSlice says who is ready."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import httpx

from tests.e2e.controlplane import ControlPlane
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.registration import NAMESPACE, PORT_NAME, SERVICE

PERIOD = 1.0
FAILURES = 2
"""A replica that fails this many probes in a row is taken out; the first good probe takes it in again (a kubelet's defaults: 3 and 1)."""


class Prober:
    """Probes replicas once a second and writes the EndpointSlice whenever a verdict changes. All replicas share one port name.

    What it cannot write (kube-apiserver is away) it writes later.
    """

    def __init__(self, plane: ControlPlane, replicas: Sequence[Kubeglance]) -> None:
        self._replicas = list(replicas)
        self._client = plane.client()
        self._ready = dict.fromkeys((replica.name for replica in replicas), False)
        self._failures = dict.fromkeys(self._ready, FAILURES)
        self._written: dict[str, bool] | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prober")
        self._thread.start()

    @property
    def ready(self) -> dict[str, bool]:
        """The verdict on each replica."""
        return dict(self._ready)

    @property
    def written(self) -> dict[str, bool]:
        """The verdicts that the EndpointSlices hold."""
        return dict(self._written or {})

    def close(self) -> None:
        """Stop probing and remove the EndpointSlices."""
        self._end.set()
        self._thread.join()
        for replica in self._replicas:
            self._client.delete(f"{self._path}/{self._slice_name(replica)}")
        self._client.close()

    def __enter__(self) -> "Prober":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    _path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"

    def _run(self) -> None:
        while not self._end.wait(PERIOD):
            for replica in self._replicas:
                good = replica.is_ready()
                self._failures[replica.name] = 0 if good else self._failures[replica.name] + 1
                self._ready[replica.name] = self._failures[replica.name] < FAILURES
            if self._ready != self._written:
                try:
                    self._write()
                except httpx.TransportError as error:
                    print(f"... prober: endpoints not written, will be later: {error}", flush=True)

    def _write(self) -> None:
        """One slice a replica, for each has a port of its own and a slice has one port for all its addresses."""
        verdicts = dict(self._ready)
        for replica in self._replicas:
            answer = self._client.patch(
                f"{self._path}/{self._slice_name(replica)}",
                params={"fieldManager": "prober", "force": "true"},
                headers={"Content-Type": "application/apply-patch+yaml"},
                json=self._slice(replica, ready=verdicts[replica.name]),
            )
            if answer.is_error:
                print(f"... prober: {answer.status_code} {answer.text[:300]}", flush=True)
                return
        self._written = verdicts
        print(f"prober: endpoints ready: {verdicts}", flush=True)

    @staticmethod
    def _slice_name(replica: Kubeglance) -> str:
        return f"{SERVICE}-{replica.name}"

    def _slice(self, replica: Kubeglance, *, ready: bool) -> dict[str, Any]:
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": self._slice_name(replica), "labels": {"kubernetes.io/service-name": SERVICE}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [replica.address], "conditions": {"ready": ready, "serving": ready, "terminating": False}}],
            "ports": [{"name": PORT_NAME, "port": replica.port, "protocol": "TCP"}],
        }
