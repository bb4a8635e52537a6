"""Authenticated encryption: ECDH-1PU+A256KW (draft-04) with A256CBC-HS512."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)

from uomp.protocol.didcomm import content, jwe
from uomp.protocol.didcomm.agreement import (
    AgreementKey,
    RecipientKey,
    exchange,
    read_epk,
    write_epk,
)


def pack_authcrypt(
    plaintext: bytes,
    *,
    sender: AgreementKey,
    recipients: Sequence[RecipientKey],
    ephemeral: X25519PrivateKey,
    cek: bytes,
    iv: bytes,
) -> bytes:
    """Encrypt for all recipient keys, so that each knows the sender.

    `ephemeral`, `cek` (64 bytes) and `iv` (16 bytes) must be fresh and random.

    Raises:
        RefusalError: for no recipients, too many, one twice, or a weak key.
        ValueError: if `cek` or `iv` has not its length.
    """
    kids = [recipient.kid for recipient in recipients]
    jwe.check_recipients(kids)
    content.check_sizes(cek, iv)
    parties = jwe.describe_parties(jwe.AUTHCRYPT, sender.kid, kids)
    header = jwe.Header(
        alg=jwe.AUTHCRYPT,
        apu=parties.apu,
        apv=parties.apv,
        enc=content.CBC_HS512,
        epk=write_epk(ephemeral),
        skid=sender.kid,
        typ=jwe.MEDIA_TYPE,
    )
    protected = jwe.write_header(header)
    ciphertext, tag = content.encrypt(cek, iv, plaintext, protected.encode())
    info = parties.info + jwe.prefixed(tag)
    wrapped = []
    for recipient in recipients:
        once = exchange(ephemeral, recipient.public)
        kek = jwe.derive_key(once + sender.agree(recipient.public), info)
        wrapped.append(jwe.Recipient(jwe.wrap_key(kek, cek), {"kid": recipient.kid}))
    return jwe.write_jwe(protected, (iv, ciphertext, tag), wrapped)


def open_authcrypt(
    envelope: jwe.Envelope,
    recipient: jwe.Recipient,
    *,
    key: AgreementKey,
    sender: X25519PublicKey,
) -> bytes:
    """Return the plaintext that the holder of `sender` has encrypted for `key`.

    `recipient` is the entry of the envelope that is for `key`.

    Raises:
        RefusalError: if this is not so.
        EncodingError: if a part is not base64url.
    """
    parts = jwe.decode_parts(envelope.jwe)
    once = key.agree_once(read_epk(envelope.header.epk))
    info = envelope.info + jwe.prefixed(parts.tag)
    kek = jwe.derive_key(once + key.agree(sender), info)
    cek = jwe.unwrap_key(kek, recipient.encrypted_key)
    return content.decrypt(envelope.header.enc, cek, parts)
