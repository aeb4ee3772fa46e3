//! Payments in live mode: Stripe's PaymentIntents.
//!
//! A charge is one call that creates and confirms a PaymentIntent, under an idempotency key that is derived from the charge key of this
//! service: repeating the call returns the result of the first one. Stripe forgets keys after a day at the earliest: a charge that may be
//! older is searched for by the key in its metadata before a new one is created. Searches lag behind, so what they find is read again by
//! its id. Without a clear response — no connection, a time-out, a 409, 429 or 5xx, a refused search — the result is an error and not a
//! refusal: it is unknown whether money moved until the same charge is requested again. The same holds for a charge or refund that Stripe
//! has not finished.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use url::form_urlencoded::Serializer;

use crate::aws::Secrets;
use kernel::environment::variable;
use kernel::fields::card::Card;
use kernel::{Error, Money, Result};
use models::payment_method::ProviderMethod;
use models::ports::payments::{Charge, ChargeResult, Payments, Refund};
use models::transaction::PaymentOutcome;

const API: &str = "https://api.stripe.com";
/// The version of Stripe's API for which this was written.
const VERSION: &str = "2024-06-20";
const CONNECT: Duration = Duration::from_secs(2);
/// The time-out: longer than a card network usually takes, shorter than the time limit of a request.
pub const TOTAL: Duration = Duration::from_secs(20);

/// The currencies that Stripe counts in whole units although they have two digits after the point.
const WHOLE: &[&str] = &["mga"];
/// The currencies that Stripe counts in hundredths although they have no digits after the point.
const HUNDREDTHS: &[&str] = &["isk", "ugx"];

/// Stripe, with the key of one account.
pub struct Stripe {
    base: String,
    key: Mutex<Option<String>>,
    /// The ARN of the secret that contains the key, and its client, if the key is not known from the start.
    named: Option<(String, Secrets)>,
    timeout: Duration,
    client: OnceLock<reqwest::Client>,
}

#[derive(Debug, Deserialize)]
struct Intent {
    id: String,
    status: String,
    last_payment_error: Option<Fault>,
}

#[derive(Debug, Deserialize)]
struct Page {
    data: Vec<Intent>,
}

#[derive(Debug, Deserialize)]
struct Given {
    id: String,
    status: String,
    failure_reason: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Refunds {
    data: Vec<Given>,
}

#[derive(Debug, Deserialize)]
struct StripeMethod {
    card: Option<CardShown>,
    customer: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CardShown {
    brand: String,
    exp_month: u8,
    exp_year: u16,
    fingerprint: Option<String>,
    last4: String,
}

#[derive(Debug, Deserialize)]
struct ErrorBody {
    error: Fault,
}

#[derive(Debug, Default, Deserialize)]
struct Fault {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
    message: Option<String>,
}

impl Fault {
    fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// The provider's reason, the more specific one if there are two.
    fn reason(self) -> Option<String> {
        self.decline_code.or(self.code)
    }
}

/// Stripe's response: the requested object, or the reason of a refusal.
enum ProviderAnswer<T> {
    Done(T),
    Refused(StatusCode, Fault),
}

impl Stripe {
    pub fn new(base: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            base: base.into(),
            key: Mutex::new(Some(key.into())),
            named: None,
            timeout: TOTAL,
            client: OnceLock::new(),
        }
    }

    /// Creates the client from the environment: `STRIPE_SECRET_KEY`, or `STRIPE_SECRET` for the ARN of the one of these secrets that
    /// contains it, which is read at the first call; and `STRIPE_API_BASE` for another URL than Stripe's own. None without a key.
    pub fn from_env(secrets: Option<Secrets>) -> Option<Self> {
        let base = variable("STRIPE_API_BASE").unwrap_or_else(|| API.to_owned());
        let base = base.trim_end_matches('/');
        if let Some(key) = variable("STRIPE_SECRET_KEY") {
            return Some(Self::new(base, key));
        }
        let (arn, secrets) = variable("STRIPE_SECRET").zip(secrets)?;
        Some(Self::named(base, arn, secrets))
    }

    /// Stripe with the key in a secret.
    pub(crate) fn named(base: &str, arn: String, secrets: Secrets) -> Self {
        Self {
            key: Mutex::default(),
            named: Some((arn, secrets)),
            ..Self::new(base, "")
        }
    }

    /// The key, read once.
    pub(crate) async fn key(&self) -> Result<String> {
        let mut key = self.key.lock().await;
        if let Some(key) = &*key {
            return Ok(key.clone());
        }
        let Some((arn, secrets)) = &self.named else {
            return Err(Error::internal("Stripe has no key"));
        };
        let read = secrets.value(arn).await?;
        Ok(key.insert(read).clone())
    }

    /// Discards the key after Stripe has refused it, so that the next request reads it again: its secret has another value after a
    /// rotation. Returns whether there is a secret.
    async fn forget_key(&self) -> bool {
        if self.named.is_some() {
            self.key.lock().await.take();
        }
        self.named.is_some()
    }

    /// The same client with a shorter time-out.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Created at the first call, so that no other function has the cost.
    fn client(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A second installation fails and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(self.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent("fleet-charging-service")
            .build()
            .map_err(Error::internal)?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<ProviderAnswer<T>> {
        let mut url = format!("{}{path}", self.base);
        if !query.is_empty() {
            url = format!("{url}?{}", form(query));
        }
        self.send(self.client()?.get(url)).await
    }

    /// The object at this path, or a list, which both exist. A refusal is an error.
    async fn read<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T> {
        match self.get(path, query).await? {
            ProviderAnswer::Done(found) => Ok(found),
            ProviderAnswer::Refused(status, fault) => Err(unclear(status, fault)),
        }
    }

    /// The payment method of a token; none if there is none.
    async fn payment_method(&self, token: &str) -> Result<Option<StripeMethod>> {
        let token: String = url::form_urlencoded::byte_serialize(token.as_bytes()).collect();
        let path = format!("/v1/payment_methods/{token}");
        match self.get(&path, &[]).await? {
            ProviderAnswer::Done(found) => Ok(Some(found)),
            ProviderAnswer::Refused(status, fault) if status.is_server_error() => {
                Err(unclear(status, fault))
            }
            ProviderAnswer::Refused(..) => Ok(None),
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        body: &[(&str, &str)],
    ) -> Result<ProviderAnswer<T>> {
        let mut request = self.client()?.post(format!("{}{path}", self.base));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form(body));
        self.send(request).await
    }

    async fn attempt(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response> {
        let request = request
            .bearer_auth(self.key().await?)
            .header("stripe-version", VERSION);
        // The URL may contain a token; the cause is sufficient.
        let answer = request.send().await;
        answer.map_err(|error| Error::unavailable(error.without_url()))
    }

    /// Sends a request, and once more with the key read again if Stripe refuses the key.
    async fn send<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<ProviderAnswer<T>> {
        let copy = request.try_clone();
        let mut answer = self.attempt(request).await?;
        if answer.status() == StatusCode::UNAUTHORIZED
            && self.forget_key().await
            && let Some(copy) = copy
        {
            answer = self.attempt(copy).await?;
        }
        let status = answer.status();
        let body = answer
            .bytes()
            .await
            .map_err(|error| Error::unavailable(error.without_url()))?;
        if status.is_success() {
            return serde_json::from_slice(&body)
                .map(ProviderAnswer::Done)
                .map_err(Error::unavailable);
        }
        let fault = serde_json::from_slice::<ErrorBody>(&body).map(|refusal| refusal.error);
        let fault = fault.unwrap_or_default();
        match status {
            StatusCode::PAYMENT_REQUIRED | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
                if fault.kind.as_deref() != Some("idempotency_error") =>
            {
                Ok(ProviderAnswer::Refused(status, fault))
            }
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => Err(unclear(status, fault)),
            status if status.is_server_error() => Ok(ProviderAnswer::Refused(status, fault)),
            status => {
                let why = format!("Stripe answered {status}: {:?}", fault.reason());
                Err(Error::internal(why))
            }
        }
    }

    /// The customer a payment method belongs to, which Stripe requires.
    pub(crate) async fn customer(&self, token: &str) -> Result<Option<String>> {
        let method = self.payment_method(token).await?;
        // If there is none, the charge returns the reason.
        Ok(method.and_then(|method| method.customer))
    }

    async fn take(&self, charge: &Charge) -> Result<ChargeResult> {
        let amount = minor_units(charge.amount);
        if amount == 0 {
            return Ok(ChargeResult::declined("amount_too_small"));
        }
        if charge.key_expired
            && let Some(result) = self.found(&charge.key).await?
        {
            return Ok(result);
        }
        let customer = match &charge.customer {
            Some(customer) => Some(customer.clone()),
            None => self.customer(&charge.token).await?,
        };
        let amount = amount.to_string();
        let mut body = vec![
            ("amount", amount.as_str()),
            ("currency", charge.amount.currency.as_str()),
            ("payment_method", charge.token.as_str()),
            ("confirm", "true"),
            ("off_session", "true"),
            ("metadata[charge_key]", charge.key.as_str()),
            ("metadata[description]", charge.description.as_str()),
        ];
        if let Some(customer) = &customer {
            body.push(("customer", customer));
        }
        let posted = self.post("/v1/payment_intents", Some(&charge.key), &body);
        match posted.await? {
            ProviderAnswer::Done(intent) => self.outcome(intent).await,
            // Stripe repeats such a response under the same key. Its charges show the effect of the call.
            ProviderAnswer::Refused(status, fault) if status.is_server_error() => {
                let found = self.found(&charge.key).await?;
                found.ok_or_else(|| unclear(status, fault))
            }
            ProviderAnswer::Refused(status, fault) => Ok(ChargeResult {
                outcome: refused(status, fault)?,
                reference: None,
            }),
        }
    }

    /// The id of the PaymentIntent that was created under this key. Searches lag behind by up to a minute.
    async fn find(&self, key: &str) -> Result<Option<String>> {
        let query = format!("metadata['charge_key']:'{key}'");
        let path = "/v1/payment_intents/search";
        let page = self.read::<Page>(path, &[("query", &query)]).await?;
        Ok(page.data.into_iter().next().map(|intent| intent.id))
    }

    /// The result of the charge that was made under this key; none if no search finds it.
    async fn found(&self, key: &str) -> Result<Option<ChargeResult>> {
        let Some(id) = self.find(key).await? else {
            return Ok(None);
        };
        let intent = self.intent(&id).await?;
        self.conclude(intent).await.map(Some)
    }

    async fn intent(&self, id: &str) -> Result<Intent> {
        self.read(&format!("/v1/payment_intents/{id}"), &[]).await
    }

    /// The result of the call that creates a PaymentIntent. The response to a repeated call is that of the first, so a PaymentIntent that
    /// was not final then is read again.
    async fn outcome(&self, intent: Intent) -> Result<ChargeResult> {
        let intent = match intent.status.as_str() {
            "processing" | "requires_action" => self.intent(&intent.id).await?,
            _ => intent,
        };
        self.conclude(intent).await
    }

    /// The result of a PaymentIntent in its present state.
    async fn conclude(&self, intent: Intent) -> Result<ChargeResult> {
        let reference = Some(intent.id.clone());
        let outcome = match intent.status.as_str() {
            "requires_action" | "requires_confirmation" | "requires_capture" => {
                self.cancel(&intent.id).await?
            }
            _ => ended(intent)?,
        };
        Ok(ChargeResult { outcome, reference })
    }

    /// Cancels a PaymentIntent that somebody would have to authenticate, confirm or capture: they are not present, but could still do it
    /// later. Its state decides if the cancellation fails: it may have had its effect, or the payer has authenticated the payment meanwhile.
    /// An idempotency key would only make Stripe repeat an error.
    async fn cancel(&self, id: &str) -> Result<PaymentOutcome> {
        let path = format!("/v1/payment_intents/{id}/cancel");
        let error = match self.post::<Intent>(&path, None, &[]).await {
            Ok(ProviderAnswer::Done(cancelled)) => return ended(cancelled),
            Ok(ProviderAnswer::Refused(status, fault)) => unclear(status, fault),
            Err(error) => error,
        };
        let intent = self.intent(id).await?;
        match intent.status.as_str() {
            "requires_action" => Err(error),
            _ => ended(intent),
        }
    }

    /// Refunds a charge or a part of it. A refund whose key may be forgotten is searched for first, by the key in its metadata.
    async fn send_refund(&self, refund: &Refund) -> Result<PaymentOutcome> {
        let intent = match &refund.reference {
            Some(id) => id.clone(),
            None => match self.find(&refund.charge).await? {
                Some(id) => id,
                None => return Err(Error::unavailable("Stripe does not find the charge yet")),
            },
        };
        let amount = match refunded_units(refund) {
            // The other refunds of the charge return all that Stripe has charged, or the rest of a wallet is too small to be returned.
            0 if refund.is_last => return Ok(PaymentOutcome::Succeeded),
            0 => return Ok(PaymentOutcome::Declined("amount_too_small".to_owned())),
            amount => amount.to_string(),
        };
        if refund.key_expired
            && let Some(given) = self.find_refund(&intent, &refund.key).await?
        {
            return self.refund_outcome(given).await;
        }
        let mut body = vec![("payment_intent", intent.as_str())];
        if refund.is_partial {
            body.push(("amount", &amount));
        }
        body.push(("metadata[refund_key]", &refund.key));
        let posted = self.post::<Given>("/v1/refunds", Some(&refund.key), &body);
        let (status, fault) = match posted.await? {
            ProviderAnswer::Done(given) => return self.refund_outcome(given).await,
            ProviderAnswer::Refused(status, fault) => (status, fault),
        };
        let is_refunded = fault.is("charge_already_refunded");
        // Stripe repeats an error of its own under the same key. Its refunds show the effect of the call.
        if (status.is_server_error() || is_refunded)
            && let Some(given) = self.find_refund(&intent, &refund.key).await?
        {
            return self.refund_outcome(given).await;
        }
        // A whole charge is refunded once, so that was the refund of this service.
        if is_refunded && !refund.is_partial {
            return Ok(PaymentOutcome::Succeeded);
        }
        refused(status, fault)
    }

    /// The result of a refund. One that was not final at first is read again, as in [`Self::outcome`].
    async fn refund_outcome(&self, given: Given) -> Result<PaymentOutcome> {
        let is_final =
            |given: &Given| ["succeeded", "failed", "canceled"].contains(&&*given.status);
        let given = if is_final(&given) {
            given
        } else {
            self.read(&format!("/v1/refunds/{}", given.id), &[]).await?
        };
        match given.status.as_str() {
            "succeeded" => Ok(PaymentOutcome::Succeeded),
            "failed" | "canceled" => {
                let reason = given.failure_reason;
                let reason = reason.unwrap_or_else(|| "refund_failed".to_owned());
                Ok(PaymentOutcome::Declined(reason))
            }
            status => Err(Error::unavailable(format!("the refund is {status}"))),
        }
    }

    /// The refund of a PaymentIntent that was created under this key. Each has a hundred at most, unless nearly all of them are of cents.
    async fn find_refund(&self, intent: &str, key: &str) -> Result<Option<Given>> {
        let query = [("payment_intent", intent), ("limit", "100")];
        let found = self.read::<Refunds>("/v1/refunds", &query).await?.data;
        let is_ours = |given: &Given| {
            given
                .metadata
                .get("refund_key")
                .is_some_and(|value| value == key)
        };
        Ok(found.into_iter().find(is_ours))
    }

    async fn show(&self, token: &str) -> Result<Option<ProviderMethod>> {
        let method = self.payment_method(token).await?;
        Ok(method.map(|method| ProviderMethod {
            card: method.card.map(|card| Card {
                brand: card.brand,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
                fingerprint: card.fingerprint.unwrap_or_default(),
                last4: card.last4,
            }),
            exclusive: method
                .customer
                .iter()
                .cloned()
                .chain([token.to_owned()])
                .collect(),
            customer: method.customer,
        }))
    }
}

impl Payments for Stripe {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<ChargeResult>> {
        Box::pin(self.take(charge))
    }

    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<PaymentOutcome>> {
        Box::pin(self.send_refund(refund))
    }

    /// Stripe's single-use tokens, `tok_…`, do not represent a card that can be charged again.
    fn method<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<ProviderMethod>>> {
        Box::pin(self.show(token))
    }
}

fn form(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The meaning of a refusal: the payer cannot be charged this way.
fn refused(status: StatusCode, fault: Fault) -> Result<PaymentOutcome> {
    if status.is_server_error() {
        return Err(unclear(status, fault));
    }
    if fault.code.is_none() {
        tracing::error!(%status, stripe.message = fault.message, "Stripe refused a request without a code");
    }
    let reason = match status {
        StatusCode::PAYMENT_REQUIRED => Some("card_declined".to_owned()),
        _ => fault.kind.clone(),
    };
    let reason = fault.reason().or(reason);
    let reason = reason.unwrap_or_else(|| "invalid_request".to_owned());
    Ok(PaymentOutcome::Declined(reason))
}

/// The outcome of a PaymentIntent that waits for no person.
fn ended(intent: Intent) -> Result<PaymentOutcome> {
    match intent.status.as_str() {
        "succeeded" => Ok(PaymentOutcome::Succeeded),
        // This service cancels a PaymentIntent only if it waits for somebody, usually for the payer to authenticate it.
        "canceled" => Ok(declined(intent, "authentication_required")),
        "requires_payment_method" => Ok(declined(intent, "card_declined")),
        status => Err(Error::unavailable(format!("the charge is {status}"))),
    }
}

/// The decline of a PaymentIntent, with a reason in case Stripe states none.
fn declined(intent: Intent, default: &str) -> PaymentOutcome {
    let reason = intent.last_payment_error.and_then(Fault::reason);
    PaymentOutcome::Declined(reason.unwrap_or_else(|| default.to_owned()))
}

fn unclear(status: StatusCode, fault: Fault) -> Error {
    Error::unavailable(format!("Stripe answered {status}: {:?}", fault.reason()))
}

/// An amount in Stripe's units. In some currencies Stripe charges only multiples of more than one minor unit: the nearest one is charged.
fn minor_units(money: Money) -> i64 {
    let (minor, currency) = (money.amount, money.currency);
    let step = currency.charge_step();
    let nearest = (minor + step / 2) / step * step;
    match currency.as_str() {
        code if WHOLE.contains(&code) => nearest / 100,
        code if HUNDREDTHS.contains(&code) => minor.saturating_mul(100),
        _ => nearest,
    }
}

/// The amount of a refund in Stripe's units. The sum for all refunds of a charge is the rounded amount of the charge. A refund that has
/// recorded no parts is rounded by itself.
fn refunded_units(refund: &Refund) -> i64 {
    let Money { amount, currency } = refund.amount;
    let rounded = |amount| minor_units(Money::new(amount, currency));
    if refund.parts.total() == amount {
        refund.parts.rounded(rounded)
    } else {
        rounded(amount)
    }
}
