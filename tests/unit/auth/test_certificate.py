from contextlib import suppress
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.auth.certificate import CREDENTIAL_ID, ChainReader, certificate_user, read_chain
from app.auth.identity import User
from tests.fakes.bent_pem import bent_der
from tests.fakes.clock import EPOCH
from tests.unit.auth.authorities import Authorities


@pytest.fixture(scope="module")
def cas() -> Authorities:
    return Authorities()


def test_subject_is_the_user(cas: Authorities) -> None:
    """CN is the user, every O a group, the leaf's digest the credential id."""
    chain = cas.chain(cas.users, "ann", ("dev", "ops"))
    expected = User("ann", groups=("dev", "ops"), extra=((CREDENTIAL_ID, (f"X509SHA256={sha256(chain[0]).hexdigest()}",)),))
    assert expected == certificate_user(read_chain(chain))


def test_no_common_name_is_nobody(cas: Authorities) -> None:
    """A certificate without a name says nothing about who calls."""
    chain = cas.chain(cas.users, "ann")
    certificate = read_chain(chain)
    assert certificate_user(type(certificate)("", (), "", frozenset(), 0, 1)) is None


def test_validity_is_a_window(cas: Authorities) -> None:
    """Valid from an hour before to a day after it was made; both ends count."""
    certificate = read_chain(cas.chain(cas.users, "ann", days=1))
    moments = [EPOCH - 3601, EPOCH - 3600, EPOCH, EPOCH + 86_400, EPOCH + 86_401]
    assert [False, True, True, True, False] == [certificate.valid_at(moment) for moment in moments]


def test_rubbish_is_a_value_error() -> None:
    """What is no certificate cannot be read."""
    with pytest.raises(ValueError, match=r"."):
        read_chain((b"rubbish",))


def test_a_chain_is_read_once(cas: Authorities) -> None:
    """All requests of a connection share one reading."""
    reader, chain = ChainReader(), cas.chain(cas.users, "ann")
    assert reader.read(chain) is reader.read(chain)


_CHAIN = Authorities().chain(Authorities().users, "ann")


@given(st.one_of(st.lists(st.binary(max_size=60), min_size=1, max_size=3).map(tuple), st.tuples(*map(bent_der, _CHAIN))))
def test_no_bytes_crash_the_reader(chain: tuple[bytes, ...]) -> None:
    """What is no chain of certificates, or nearly one, is a ValueError."""
    with suppress(ValueError):
        read_chain(chain)
