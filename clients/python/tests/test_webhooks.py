import hashlib
import hmac
import inspect
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet_charging import webhooks
from fleet_charging.errors import SignatureVerificationError
from fleet_charging.models import Event, Invoice, InvoiceEventData

SECRET = "whsec_c2FtcGxlIHNpZ25pbmcgc2VjcmV0IQAA"
BODY = json.dumps(
    {"id": "evt_1", "object": "event", "type": "invoice.paid", "data": {"object": {"amount_paid": 495, "note": "Zoë"}}},
    ensure_ascii=False,
)
NOW = datetime(2026, 3, 2, 8, 30, 10, tzinfo=UTC).timestamp()
STAMP = "2026-03-02T08:30:00.000Z"


def sign(stamp: str, key: str = SECRET, body: str = BODY) -> str:
    digest = hmac.new(key.encode(), f"{stamp}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def verify(signature: str, body: str | bytes = BODY) -> Event:
    return webhooks.verify(body, {"service-signature": signature}, SECRET, now=NOW)


@pytest.mark.parametrize("stamp", [STAMP, "1772440200"])
def test_a_signed_delivery_gives_its_event_whatever_the_form_of_time_and_body(stamp: str) -> None:
    event = verify(sign(stamp))
    assert event.type == "invoice.paid"
    assert isinstance(event.data.object, Invoice)
    assert event.data.object.amount_paid == 495
    assert verify(sign(stamp), BODY.encode()) == event


def test_an_event_of_an_unknown_type_has_its_members_as_attributes() -> None:
    members = {"id": "new_1", "parts": [{"id": "part_1"}], "tags": ["a", None]}
    body = json.dumps({"id": "evt_1", "object": "event", "type": "novelty.made", "data": {"object": members}})
    event = webhooks.verify(body, webhooks.sign(body, SECRET, now=NOW), SECRET, now=NOW)
    novelty = getattr(event.data, "object")
    assert (novelty.id, novelty["id"], novelty.parts[0].id, novelty.tags) == ("new_1", "new_1", "part_1", ["a", None])
    assert event.to_dict() == json.loads(body)


def test_a_thin_delivery_has_the_id_of_its_object_alone() -> None:
    body = json.dumps(
        {"id": "evt_1", "object": "event", "type": "invoice.paid", "data": {"object": {"id": "inv_1", "object": "invoice"}}}
    )
    event = verify(sign(STAMP, body=body), body)
    assert isinstance(event.data.object, Invoice)
    assert (event.data.object.id, list(event.data.object)) == ("inv_1", ["id", "object"])
    with pytest.raises(AttributeError):
        event.data.object.amount_paid


def test_the_documentation_names_the_members_of_a_thin_payload() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    for text in (readme, webhooks.verify.__doc__ or "", inspect.getsource(InvoiceEventData)):
        assert "thin" in text and "`id` and `object`" in " ".join(text.split())


def test_an_event_with_a_time_that_cannot_be_read_is_verified() -> None:
    body = BODY.replace('"id": "evt_1"', '"id": "evt_1", "created": "0000-01-01T00:00:00.000Z"')
    assert verify(sign(STAMP, body=body), body)["created"] == "0000-01-01T00:00:00.000Z"


def test_one_good_signature_among_several_is_enough_because_a_secret_can_be_rotated() -> None:
    old = sign(STAMP, "whsec_other").split(",")[1]
    new = sign(STAMP).split(",")[1]
    verify(f"t={STAMP},{new},{old}")
    verify(f"t={STAMP},{old},{new}")


@pytest.mark.parametrize(
    ("signature", "body"),
    [
        (sign(STAMP, "whsec_other"), BODY),
        (sign(STAMP), BODY.replace("495", "0")),
        (sign(STAMP).replace("08:30:00", "08:30:01"), BODY),
        (sign("2026-03-02T08:25:00.000Z"), BODY),
        (sign("2026-03-02T08:35:20.000Z"), BODY),
        (sign("never"), BODY),
        ("", BODY),
        ("t=1", BODY),
        ("v1=00", BODY),
        (f"t={STAMP},v1=", BODY),
        (f"t={STAMP},v1=ü", BODY),
    ],
)
def test_another_secret_body_or_time_and_what_is_malformed_is_refused(signature: str, body: str) -> None:
    with pytest.raises(SignatureVerificationError):
        verify(signature, body)


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"id": 1}'])
def test_only_an_event_can_be_signed(body: str) -> None:
    with pytest.raises(ValueError):
        webhooks.sign(body, SECRET, now=NOW)


def test_an_empty_secret_is_refused_because_anybody_could_sign_with_it() -> None:
    with pytest.raises(SignatureVerificationError, match="secret"):
        webhooks.verify(BODY, {"service-signature": sign(STAMP, "")}, "", now=NOW)


def test_a_delivery_without_a_signature_is_refused() -> None:
    with pytest.raises(SignatureVerificationError):
        webhooks.verify(BODY, {}, SECRET, now=NOW)


def test_a_delivery_that_was_signed_for_a_test_is_accepted_only_with_its_secret_body_and_time() -> None:
    headers = webhooks.sign(BODY, SECRET, now=NOW)
    assert webhooks.verify(BODY, headers, SECRET, now=NOW).type == "invoice.paid"
    for body, secret, now in [(BODY, "whsec_other", NOW), (BODY + " ", SECRET, NOW), (BODY, SECRET, NOW + 301)]:
        with pytest.raises(SignatureVerificationError):
            webhooks.verify(body, headers, secret, now=now)
