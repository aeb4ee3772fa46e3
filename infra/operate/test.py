"""Tests of the scripts for operators, at a local runner: .ci/operate, or python infra/operate/test.py FILE, with what the runner prints."""

import contextlib
import io
import json
import pathlib
import sys
import time
import unittest
import urllib.request

import boto3

import relay
import restore

RUNNER = json.loads(pathlib.Path(sys.argv.pop(1)).read_text())
KEYS = {"aws_access_key_id": RUNNER["store_access_key"], "aws_secret_access_key": "local"}
DATABASE = boto3.client("dynamodb", endpoint_url=RUNNER["store"], region_name="us-east-1", **KEYS)
TENANT = f"{RUNNER['account']}#test#"


def api(path, body=None):
    """The response of the API."""
    headers = {"Authorization": f"Bearer {RUNNER['api_key']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{RUNNER['base_url']}/v1/{path}", data, headers)) as response:
        return json.load(response)


def item(pk, sk="#", **attributes):
    return {"pk": {"S": pk}, "sk": {"S": sk}} | attributes


def calendar(evse, revision, *entries):
    """A calendar of the EVSE, with entries of a holder from one hour to another."""
    entries = [
        {"M": {"holder": {"S": holder}, "account": {"S": "acct_1"}, "window": {"L": [{"N": str(begin)}, {"N": str(end)}]}}}
        for holder, begin, end in entries
    ]
    content = {"M": {"entries": {"L": entries}}}
    return item(f"test#CAL#chst_1#{evse}", "2026-11-30", calendar=content, revision={"N": str(revision)})


class Overtaken:
    """A database in which an item is changed each time before it is written."""

    def __init__(self, change):
        self.change = change

    def __getattr__(self, name):
        return getattr(DATABASE, name)

    def put_item(self, TableName, Item, **condition):
        key = {"pk": Item["pk"], "sk": Item["sk"]}
        found = DATABASE.get_item(TableName=TableName, Key=key)["Item"]
        DATABASE.put_item(TableName=TableName, Item=found | self.change)
        return DATABASE.put_item(TableName=TableName, Item=Item, **condition)


def new_table():
    """The name of an empty table."""
    name, keys = f"table-{time.time_ns()}", {"pk": "HASH", "sk": "RANGE"}
    DATABASE.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
    )  # fmt: skip
    return name


class CopyTest(unittest.TestCase):
    def setUp(self):
        """Two empty tables: the restored one, and the one in use."""
        self.restored, self.used = new_table(), new_table()

    def put(self, table, *items):
        for one in items:
            DATABASE.put_item(TableName=table, Item=one)

    def at(self, wanted):
        return DATABASE.get_item(TableName=self.used, Key={"pk": wanted["pk"], "sk": wanted["sk"]}).get("Item")

    def copy(self, prefix, holder=None, database=DATABASE, target=None):
        """The output of the command."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            restore.copy(database, self.restored, target or self.used, prefix, holder, True)
        return printed.getvalue()

    def test_counters_and_derived_items_are_left_out(self):
        for pk, sk in [("NUMBERS", "invoice#2026"), ("ENDPOINTS", "#"), ("CARDS#drv_1", "#"), ("flt_1#SUMS", "DAY#2026-11-30"),
                       ("event#3", "evt_1"), ("wh_1#7", "dlv_1"), ("SEARCH", "fleet#a#flt_1"), ("inv_1", "MAKING")]:  # fmt: skip
            used = item(TENANT + pk, sk, last={"N": "7"})
            self.put(self.used, used)
            self.put(self.restored, used | {"last": {"N": "3"}})
            self.assertIn("0 were written", self.copy(TENANT + pk))
            self.assertEqual(used, self.at(used))

    def test_parts_of_objects_are_copied(self):
        for pk, sk in [("inv_1", "li_1"), ("flt_1", "drv_1"), ("CARDS#drv_1", "ccd_1")]:
            self.put(self.restored, item(TENANT + pk, sk, text={"S": "old"}))
        damaged = item(TENANT + "inv_1", "li_1", text={"S": "damaged"}, added={"S": "later"})
        self.put(self.used, damaged)
        self.assertIn("3 were written", self.copy(TENANT))
        self.assertEqual(item(TENANT + "inv_1", "li_1", text={"S": "old"}), self.at(damaged))

    def test_an_item_that_is_changed_meanwhile_is_left_as_it_is(self):
        for attributes in ({}, {"version": {"N": "1"}}):
            old = item(TENANT + "inv_1", "li_1", text={"S": "old"}, **attributes)
            self.put(self.restored, old)
            self.put(self.used, old | {"text": {"S": "damaged"}})
            change = {"text": {"S": "newer"}} | ({"version": {"N": "2"}} if attributes else {})
            self.assertIn("1 were left as they are", self.copy(TENANT, database=Overtaken(change)))
            self.assertEqual({"S": "newer"}, self.at(old)["text"])

    def test_a_calendar_gains_one_holders_entries(self):
        old = calendar("1", 1, ("res_1", 1, 2), ("res_2", 4, 5))
        used = calendar("1", 7, ("res_3", 2, 3))
        self.put(self.restored, old)
        self.put(self.used, used)
        self.assertIn("0 were written", self.copy("test#CAL#"))
        self.assertEqual(used, self.at(old))
        for _ in range(2):
            self.copy("test#CAL#", "res_1")
            self.assertEqual(calendar("1", 8, ("res_1", 1, 2), ("res_3", 2, 3)), self.at(old))
        self.assertIn("1 were left as they are", self.copy("test#CAL#", "res_2", Overtaken({"revision": {"N": "9"}})))

    def test_time_that_is_taken_is_not_booked_again(self):
        self.put(self.restored, calendar("1", 1, ("res_1", 1, 4)))
        used = calendar("1", 7, ("res_3", 2, 3))
        self.put(self.used, used)
        free = calendar("2", 1, ("res_1", 1, 4))
        self.put(self.restored, free)
        self.assertIn("nothing was written", self.copy("test#CAL#", "res_1"))
        self.assertEqual((used, None), (self.at(used), self.at(free)))

    def test_events_of_a_copied_object_are_numbered_on(self):
        address = {"line1": "1", "city": "London", "postal_code": "E3 4LH", "country": "GB"}
        fleet = api("fleets", {"name": "first", "email": "a@b.example", "address": address})["id"]
        key = {"pk": {"S": TENANT + fleet}, "sk": {"S": "#"}}
        self.put(self.restored, DATABASE.get_item(TableName=RUNNER["table"], Key=key)["Item"])
        api(f"fleets/{fleet}", {"name": "second"})
        self.assertIn("1 were written", self.copy(TENANT + fleet, target=RUNNER["table"]))
        self.assertEqual("first", api(f"fleets/{fleet}")["name"])
        api(f"fleets/{fleet}", {"name": "third"})
        for _ in range(100):
            events = [one for one in api("events?limit=100")["data"] if one["data"]["object"]["id"] == fleet]
            if len(events) >= 3:
                break
            time.sleep(0.1)
        time.sleep(0.5)
        found = [(one["sequence"], one["data"]["object"]["name"]) for one in reversed(events)]
        self.assertEqual([(1, "first"), (2, "second"), (3, "third")], found)

    def test_a_deleted_object_gets_a_version_above_all_before(self):
        old = item(TENANT + "flt_1", version={"N": "3"}, events={"L": []}, sequence={"N": "2"})
        self.put(self.restored, old)
        self.copy(TENANT)
        copied = self.at(old)
        self.assertGreater(int(copied["version"]["N"]), 1_000_000_000)
        self.assertNotIn("events", copied)


class DeadLetters:
    """The queue and the relay, which fails for an item with the text `unreadable`."""

    def __init__(self, *changes):
        self.messages = {str(n): json.dumps(change | {"error": "unreadable", "failed_at": "-"}) for n, change in enumerate(changes)}
        self.invoked = []
        self.shown = []

    def receive_message(self, **_):
        return {"Messages": [{"MessageId": id, "ReceiptHandle": id, "Body": body} for id, body in self.messages.items()]}

    def delete_message(self, QueueUrl, ReceiptHandle):
        del self.messages[ReceiptHandle]

    def change_message_visibility(self, QueueUrl, ReceiptHandle, VisibilityTimeout):
        self.shown.append((ReceiptHandle, VisibilityTimeout))

    def invoke(self, FunctionName, Payload):
        (record,) = json.loads(Payload)["Records"]
        image = record["dynamodb"]["NewImage"]
        self.invoked.append((FunctionName, image))
        failures = [{"itemIdentifier": None}] if image.get("text") == {"S": "unreadable"} else []
        return {"Payload": io.BytesIO(json.dumps({"batchItemFailures": failures}).encode())}


class RelayTest(unittest.TestCase):
    def setUp(self):
        self.table = new_table()

    def hand_over(self, letters, apply=False, discard=False):
        """The number of messages that are left, and the output."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            left = relay.hand_over((DATABASE, letters, letters), (self.table, "url", "fleet-relay-stream"), apply, discard)
        return left, printed.getvalue()

    def change(self, id, failed, **attributes):
        """A change that failed, and the item as it is now."""
        if attributes:
            DATABASE.put_item(TableName=self.table, Item=item(TENANT + id, **attributes))
        return {"pk": TENANT + id, "sk": "#", "version": failed}

    def test_an_item_is_handed_over_and_its_message_deleted(self):
        letters = DeadLetters(self.change("flt_1", 2, version={"N": "2"}, deflated={"B": b"\x00\x01"}))
        self.assertEqual(1, self.hand_over(letters)[0])
        self.assertEqual(([], [("0", 0)]), (letters.invoked, letters.shown))
        self.assertEqual(0, self.hand_over(letters, apply=True)[0])
        ((function, image),) = letters.invoked
        self.assertEqual("fleet-relay-stream:live", function)
        self.assertEqual(item(TENANT + "flt_1", version={"N": "2"}, deflated={"B": "AAE="}), image)
        self.assertEqual({}, letters.messages)

    def test_lost_events_are_reported_until_they_are_discarded(self):
        letters = DeadLetters(self.change("flt_1", 2), self.change("flt_2", 2, version={"N": "3"}))
        left, printed = self.hand_over(letters, apply=True)
        self.assertEqual((2, []), (left, letters.invoked))
        self.assertIn("flt_1 #, version 2: was deleted since", printed)
        self.assertIn("flt_2 #, version 2: has version 3 by now: the events of version 2 are lost", printed)
        self.assertEqual(0, self.hand_over(letters, discard=True)[0])
        self.assertEqual({}, letters.messages)

    def test_a_message_stays_when_the_relay_fails(self):
        letters = DeadLetters(self.change("flt_1", 2, version={"N": "2"}, text={"S": "unreadable"}))
        left, printed = self.hand_over(letters, apply=True, discard=True)
        self.assertEqual((1, ["0"]), (left, list(letters.messages)))
        self.assertIn("was not relayed", printed)


if __name__ == "__main__":
    unittest.main()
