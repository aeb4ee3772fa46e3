"""Verifies deliveries with the Python libraries of Stripe, Standard Webhooks and Svix: python verify.py FILE."""

import datetime
import json
import sys

import standardwebhooks.webhooks
import stripe
import svix.webhooks
from freezegun import freeze_time

deliveries = json.load(open(sys.argv[1]))
checks = 0


def by_stripe(body, headers, secret):
    stripe.WebhookSignature.verify_header(body, headers["service-signature"], secret, 300)


def by_standard(body, headers, secret):
    standardwebhooks.webhooks.Webhook(secret).verify(body, headers)


def by_svix(body, headers, secret):
    svix.webhooks.Webhook(secret).verify(body, headers)


REFUSALS = (
    stripe.SignatureVerificationError,
    standardwebhooks.webhooks.WebhookVerificationError,
    svix.webhooks.WebhookVerificationError,
)


def refuses(verify, what, *arguments):
    global checks
    try:
        verify(*arguments)
    except REFUSALS:
        checks += 1
        return
    raise SystemExit(f"{verify.__name__} accepts a delivery with {what}")


for verify in (by_stripe, by_standard, by_svix):
    for delivery in deliveries:
        body, headers = delivery["body"], delivery["headers"]
        for secret in delivery["secrets"]:
            verify(body, headers, secret)
            checks += 1
            refuses(verify, "another body", body + " ", headers, secret)
            refuses(verify, "a changed body", body.replace("ping", "pong"), headers, secret)
            for name in ("service-signature", "webhook-signature", "webhook-timestamp", "webhook-id"):
                is_read = (name == "service-signature") == (verify is by_stripe)
                value = headers[name]
                # Of a rotation every signature.
                forged = value.replace("v1=", "v1=0").replace("v1,", "v1,A")
                if name == "webhook-timestamp":
                    forged = str(int(value) - 1)
                elif name == "webhook-id":
                    forged = value + "0"
                if is_read:
                    refuses(verify, f"another {name}", body, {**headers, name: forged}, secret)
            # Stripe's library does not refuse what comes from the future.
            for minutes in [10] if verify is by_stripe else [-10, 10]:
                now = datetime.datetime.now(datetime.timezone.utc)
                with freeze_time(now + datetime.timedelta(minutes=minutes)):
                    refuses(verify, f"a clock {minutes} minutes off", body, headers, secret)
        for secret in delivery["wrong_secrets"]:
            refuses(verify, "a wrong secret", body, headers, secret)
print(f"Python: {checks} checks")
