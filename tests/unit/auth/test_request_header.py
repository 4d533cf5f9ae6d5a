from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.auth.identity import User
from app.auth.request_header import FrontProxyReader, front_proxy_user
from app.auth.trust import TrustBundle

BUNDLE = TrustBundle(
    username_headers=(b"x-remote-user", b"x-other-user"),
    uid_headers=(b"x-remote-uid",),
    group_headers=(b"x-remote-group",),
    extra_prefixes=(b"x-remote-extra-",),
)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param([(b"x-remote-user", b"ann")], User("ann"), id="a user"),
        pytest.param([(b"accept", b"*/*")], None, id="no header"),
        pytest.param([(b"x-remote-user", b"")], None, id="empty"),
        pytest.param([(b"x-remote-user", b""), (b"x-other-user", b"bob")], User("bob"), id="the first that is not empty"),
        pytest.param([(b"x-other-user", b"bob"), (b"x-remote-user", b"ann")], User("ann"), id="in the configured order"),
        pytest.param([(b"x-remote-user", b"ann"), (b"x-remote-user", b"eve")], User("ann"), id="duplicate user: the first counts"),
        pytest.param([(b"x_remote_user", b"eve")], None, id="underscores are another header"),
        pytest.param([(b"x-remote_user", b"eve"), (b"x-remote-user", b"ann")], User("ann"), id="a smuggled variant does nothing"),
        pytest.param(
            [(b"x-remote-user", b"ann"), (b"x_remote_group", b"system:masters"), (b"x-remote-group", b"dev")],
            User("ann", groups=("dev",)),
            id="a smuggled group does nothing",
        ),
        pytest.param(
            [(b"x-remote-user", b"ann"), (b"x-remote-group", b"a"), (b"x-remote-group", b"b,c"), (b"x-remote-group", b"")],
            User("ann", groups=("a", "b,c")),
            id="all groups, never split at commas",
        ),
        pytest.param([(b"x-remote-user", b"ann"), (b"x-remote-uid", b"1")], User("ann", uid="1"), id="uid"),
        pytest.param(
            [
                (b"x-remote-user", b"ann"),
                (b"x-remote-extra-scopes", b"one"),
                (b"x-remote-extra-scopes", b"two"),
                (b"x-remote-extra-authentication.kubernetes.io%2fcredential-id", b"X509SHA256=1"),
                (b"x-remote-extra-50%", b"kept"),
                (b"x-remote-extra-%zz", b"kept"),
            ],
            User(
                "ann",
                extra=(
                    ("%zz", ("kept",)),
                    ("50%", ("kept",)),
                    ("authentication.kubernetes.io/credential-id", ("X509SHA256=1",)),
                    ("scopes", ("one", "two")),
                ),
            ),
            id="extra: suffix percent-decoded, values kept, broken escapes kept",
        ),
        pytest.param([(b"x-remote-user", "zoë".encode())], User("zoë"), id="UTF-8"),
        pytest.param([(b"x-remote-user", b"zo\xff")], User("zo\ufffd"), id="not UTF-8"),
    ],
)
def test_headers(headers: Any, expected: Any) -> None:
    """The front proxy's headers become a user as k8s.io/apiserver's headerrequest makes it."""
    assert expected == front_proxy_user(headers, BUNDLE)


def test_uid_only_if_named() -> None:
    """Older kube-apiservers let a client's X-Remote-Uid through: it counts only if the ConfigMap names it."""
    headers = [(b"x-remote-user", b"ann"), (b"x-remote-uid", b"forged")]
    assert User("ann") == front_proxy_user(headers, TrustBundle(username_headers=(b"x-remote-user",)))


@given(st.lists(st.tuples(st.sampled_from([b"x-remote-user", b"x-remote-group", b"x-remote-extra-a%2"]), st.binary())))
def test_no_bytes_crash_it(headers: Any) -> None:
    """Header values are hostile: any bytes give a user or none."""
    user = front_proxy_user(headers, BUNDLE)
    assert user is None or user.name


def test_a_remembered_user_is_of_the_same_headers_and_bundle() -> None:
    """Other headers, another order or another bundle are read anew; very long ones are never kept."""
    reader = FrontProxyReader()
    ann, group = (b"x-remote-user", b"ann"), (b"x-remote-group", b"dev")
    assert reader.read((ann, group), BUNDLE) is reader.read((ann, group), BUNDLE)
    assert User("ann") == reader.read((ann,), BUNDLE)
    assert User("ann", groups=("dev",)) == reader.read((group, ann), BUNDLE)
    assert reader.read((ann, group), TrustBundle(generation=1)) is None
    long = (ann, (b"x-remote-group", b"x" * 5000))
    assert reader.read(long, BUNDLE) is not reader.read(long, BUNDLE)
