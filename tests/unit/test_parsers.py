"""Everything that reads foreign text or bytes has a property test: for whatever comes, an answer or the error that it promises."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROPERTIES = {
    # Requests
    "app.wire.accept:parse_accept": "wire.test_accept:test_parser_never_crashes",
    "app.wire.accept:negotiate": "wire.test_accept:test_negotiation_never_crashes",
    "app.wire.accept:error_media": "wire.test_accept:test_negotiation_never_crashes",
    "app.wire.accept:accepts_json": "wire.test_accept:test_negotiation_never_crashes",
    "app.wire.continuation:decode_continue": "wire.test_list_options:test_continue_never_crashes",
    "app.wire.etag:etag_matches": "wire.test_etag:test_matcher_never_crashes",
    "app.wire.field_selectors:parse_field_selector": "wire.test_field_selectors:test_parser_never_crashes",
    "app.wire.label_selectors:parse_label_selector": "wire.test_label_selectors:test_parser_never_crashes",
    "app.wire.label_matching:int64": "wire.test_label_selectors:test_numbers_never_crash",
    "app.wire.label_syntax:faults_of_key": "wire.test_label_selectors:test_keys_and_values_never_crash",
    "app.wire.label_syntax:faults_of_value": "wire.test_label_selectors:test_keys_and_values_never_crash",
    "app.wire.list_options:parse_list_options": "wire.test_list_options:test_options_never_crash",
    "app.wire.list_options:parse_version": "wire.test_list_options:test_version_never_crashes",
    "app.wire.query:parse_query": "wire.test_list_options:test_query_never_crashes",
    "app.wire.query:parse_query_all": "wire.test_list_options:test_query_never_crashes",
    "app.wire.query:boolean": "wire.test_list_options:test_flags_and_numbers_never_crash",
    "app.wire.query:integer": "wire.test_list_options:test_flags_and_numbers_never_crash",
    "app.wire.request_info:split_request": "wire.test_request_info:test_splitter_never_crashes",
    "app.wire.table:parse_include_object": "wire.test_table:test_include_object_never_crashes",
    "app.serving.protocol:KubeglanceProtocol": "serving.test_fuzz:test_whatever_is_asked",
    "app.serving.dispatch:Dispatcher": "serving.test_fuzz:test_good_requests_with_some_bytes_changed",
    # Callers
    "app.auth.certificate:read_chain": "auth.test_certificate:test_no_bytes_crash_the_reader",
    "app.auth.request_header:front_proxy_user": "auth.test_request_header:test_no_bytes_crash_it",
    "app.auth.token:bearer_token": "auth.test_token:test_no_header_crashes_it",
    "app.auth.trust:parse_bundle": "auth.test_trust:test_no_text_crashes_the_parser",
    "app.auth.trust:authority_id": "auth.test_trust:test_no_certificate_crashes_the_parser",
    # kube-apiserver
    "app.auth.reviews:review": "auth.test_token:test_no_review_crashes_it",
    "app.kube.client:status_error": "kube.test_client:test_no_body_of_an_error_crashes_it",
    "app.kube.decode:node": "kube.test_decode:test_no_input_crashes_a_decoder",
    "app.kube.decode:pod": "kube.test_decode:test_no_input_crashes_a_decoder",
    "app.kube.decode:claim": "kube.test_decode:test_no_input_crashes_a_decoder",
    "app.kube.decode:config_map": "kube.test_decode:test_no_input_crashes_a_decoder",
    "app.kube.object_labels:decode_labels": "kube.test_object_labels:test_what_is_no_object_is_told",
    "app.kube.objects:decode_object": "kube.test_decode:test_no_input_crashes_a_decoder",
    "app.kube.deep_json:decode": "kube.test_deep_json:test_what_is_not_deep_is_not_touched",
    "app.kube.deep_json:shallow": "kube.test_deep_json:test_no_bytes_crash_it",
    "app.kube.lines:LineSplitter": "kube.test_lines:test_chunk_borders_do_not_matter",
    "app.kube.reflector:Reflector": "kube.test_reflector:test_no_event_crashes_it",
    "app.wire.quantity:parse_cpu": "wire.test_quantity:test_parse_never_crashes",
    "app.wire.quantity:parse_bytes": "wire.test_quantity:test_parse_never_crashes",
    "app.wire.quantity:parse_decimal": "wire.test_quantity:test_parse_never_crashes",
    "app.kube.pod_endpoints:decode_endpoint": "kube.test_pod_endpoints:test_no_pod_crashes_it",
    "app.declared.prometheus_servers:parse_servers": "declared.test_prometheus_servers:test_no_file_crashes_it",
    "app.declared.prometheus_servers:read_servers": "declared.test_prometheus_servers:test_no_file_crashes_it",
    "app.adapter.config:parse": "adapter.test_config:test_no_file_breaks_the_parser",
    "app.adapter.offline:read_config": "adapter.test_config:test_no_file_breaks_the_parser",
    "app.adapter.prometheus:parse": "adapter.test_prometheus:test_no_answer_breaks_the_parser",
    # Other adapters
    "app.federation.config:parse_routes": "federation.test_config:test_no_file_crashes_it",
    "app.federation.config:read_routes": "federation.test_config:test_no_file_crashes_it",
    "app.federation.answers:listed_in": "federation.test_answers:test_no_answer_crashes_it",
    "app.federation.answers:series_in": "federation.test_answers:test_no_answer_crashes_it",
    # Kubelets
    "app.http1.response:Response": "http1.test_response:test_no_bytes_crash_it",
    "collectors._exposition:parse_labels": "collectors.test_kubelet_resource:test_no_text_crashes_the_parser_or_costs_a_good_line",
    "collectors._resource_columns:read_columns": "collectors.test_resource_columns:test_columns_say_what_lines_say",
    "collectors._resource_lines:read_lines": "collectors.test_resource_columns:test_columns_say_what_lines_say",
    "collectors._resource_lines:read_series": "collectors.test_kubelet_resource:test_no_text_crashes_the_parser_or_costs_a_good_line",
    "collectors.kubelet_resource:parse": "collectors.test_kubelet_resource:test_no_bytes_crash_the_parser",
    "collectors.kubelet_summary:parse": "collectors.test_kubelet_summary:test_no_document_crashes_the_parser",
    # Declarations
    "app.cli.declared_files:read_files": "cli.test_check:test_no_content_of_a_file_is_a_traceback",
    "app.cli.rendered:read_response": "collectors.test_plain_yaml:test_no_body_crashes_the_reader",
    "app.declared.cel_syntax:parse": "declared.test_cel:test_no_text_and_no_value_crashes_it",
    "app.declared.jsonpath:parse": "declared.test_jsonpath:test_no_text_crashes_it",
    "app.declared.tenants:parse_tenants": "declared.test_tenants:test_no_file_crashes_it",
    "app.declared.tenants:TenantsFile": "declared.test_tenants:test_no_file_crashes_it",
    "app.declared.check:check": "declared.test_check:test_no_declaration_crashes_the_checker",
    "app.declared.documents:read": "declared.test_documents:test_no_text_crashes_the_reader",
    "app.declared.json_text:tree": "declared.test_documents:test_json_reads_as_the_library_reads_it",
    "app.declared.yaml_text:trees": "declared.test_documents:test_no_bytes_crash_the_reader",
    # Sources of declared kinds
    "app.declared.hosts:is_listed": "declared.test_hosts:test_no_host_crashes_it",
    "app.declared.http_client:SourceHttp": "declared.test_http_client:test_no_bytes_crash_it",
    "collectors._http_body:decode_body": "collectors.test_plain_yaml:test_no_body_crashes_the_reader",
    "collectors._http_body:read_body": "collectors.test_plain_yaml:test_no_body_crashes_the_reader",
    "collectors._link_header:target_of": "collectors.test_link_header:test_no_header_crashes_it",
    "collectors._plain_yaml:load": "collectors.test_plain_yaml:test_no_body_crashes_the_reader",
    "collectors._prometheus_text:exact": "collectors.test_prometheus_text:test_numbers_come_back",
    "collectors._prometheus_text:read_samples": "collectors.test_prometheus_text:test_no_text_crashes_it",
    "collectors._prometheus_text:stamp": "collectors.test_prometheus_text:test_stamps_never_crash",
    "app.served_metrics.numbers:exact": "served_metrics.test_numbers:test_nothing_else_is_raised",
    "collectors._prometheus_api:parse": "collectors.test_prometheus:test_no_answer_crashes_it",
    # Files, flags and variables
    "app.certs:Authority": "test_certs:test_no_authority_file_crashes_it",
    "app.cli.flags:parse": "cli.test_flags:test_no_arguments_break_the_parser",
    "app.cli.settings_file:read": "cli.test_sources:test_no_text_of_a_file_is_a_traceback",
    "app.cli.sources:load": "cli.test_sources:test_no_text_of_a_file_is_a_traceback",
    "app.duration:parse_duration": "test_duration:test_parser_never_crashes",
    "app.kube.config:load": "kube.test_config:test_no_kubeconfig_crashes_it",
    "app.kube.kubeconfig:read": "kube.test_config:test_no_kubeconfig_crashes_it",
    "app.kube.credentials:token_file": "kube.test_credentials:test_no_token_file_crashes_it",
    "app.serving.tls:ServerTLS": "serving.test_tls:test_no_serving_file_crashes_it",
    "app.serving_certificate:self_signed": "test_serving_certificate:test_no_pair_that_is_there_crashes_it",
    "app.settings:Settings": "test_settings:test_no_text_breaks_a_setting",
}
"""The reader, and the property test that holds it."""

NO_READERS = {
    "app.routes.problems:read_only": "puts a rule about methods around an endpoint",
    "app.serving.peer:read_peer": "what a finished handshake says, as OpenSSL's own objects",
    "app.kinds:load": "loads modules of this project",
}
"""What is named like a reader of foreign data and is none, with the reason."""

_NAMED_LIKE_READERS = re.compile(r"(parse|decode|read|split|load)(_|$)")


def resolved(name: str) -> Any:
    """What "module:name" names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def public_functions() -> Iterator[tuple[str, str]]:
    """Module and name of every public function that a module defines; the simulated cluster of the demo reads nothing foreign."""
    for path in sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "collectors").glob("*.py")]):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not module.startswith("app.simulation"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield module, node.name


@pytest.mark.parametrize("reader", PROPERTIES)
def test_every_reader_has_a_property_test(reader: str) -> None:
    """The table names what exists, and tests that hypothesis runs."""
    test = resolved(f"tests.unit.{PROPERTIES[reader]}")
    assert callable(resolved(reader))
    assert getattr(test, "is_hypothesis_test", False), PROPERTIES[reader]
    assert inspect.getdoc(test)


def test_every_reader_is_listed() -> None:
    """A new function that is named like a reader needs its row, or a reason why it reads nothing foreign."""
    named = {f"{module}:{name}" for module, name in public_functions() if _NAMED_LIKE_READERS.match(name)}
    assert set() == named - PROPERTIES.keys() - NO_READERS.keys()
    assert set() == NO_READERS.keys() - named
