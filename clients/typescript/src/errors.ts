/** What the client throws: `ApiError` for a response of the service, the others for what happens on the way to it. */

import type { ErrorCode } from "./generated/models.ts";

export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "rate_limit_error"
  | "api_error"
  | "idempotency_error";

/** What is wrong with one parameter of a request. */
export interface ParameterError {
  code: "parameter_missing" | "parameter_unknown" | "parameter_invalid";
  /** The parameter as a path: `location.radius`. */
  param: string;
  /** What is wrong, what was expected, and the permitted values. */
  message: string;
  doc_url: string;
}

/** The body of an error response. */
export interface ErrorBody {
  object: "error";
  type: ErrorType;
  code: ErrorCode | null;
  message: string;
  param: string | null;
  request: string;
  status: number;
  doc_url: string | null;
  decline_code?: string;
  transaction?: string;
  policy?: string;
  rule?: string;
  errors?: ParameterError[];
}

/** What an error with a certain code has besides. */
export interface ErrorDetails {
  payment_authorization_failed: { declineCode: string };
  policy_blocked: { policy: string; rule: string };
}

export class FleetError extends Error {
  override name = "FleetError";
}

/** No response: the connection failed, or the response broke off. `cause` says why. */
export class ConnectionError extends FleetError {
  override name = "ConnectionError";
}

/** No response within the time-out of an attempt, in the last of all attempts. */
export class TimeoutError extends ConnectionError {
  override name = "TimeoutError";
}

/** A webhook delivery is not signed with the secret, or was signed too long ago. */
export class SignatureVerificationError extends FleetError {
  override name = "SignatureVerificationError";
}

/** The service refused a request, or failed. */
export class ApiError extends FleetError {
  override name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  readonly type: ErrorType;
  /** The specific condition; null where the type says it all. */
  readonly code: ErrorCode | null;
  /** The parameter at fault, as a path: `location.radius`. */
  readonly param: string | null;
  /** The id of the request, for support. */
  readonly requestId: string | null;
  /** Where the code is explained. */
  readonly docUrl: string | null;
  /** With `payment_authorization_failed`: the payment provider's reason. */
  declare readonly declineCode?: string;
  /** Of a request that charges: the transaction that shows whether it did. */
  declare readonly transaction?: string;
  /** With `policy_blocked`: the id of the policy. */
  declare readonly policy?: string;
  /** With `policy_blocked`: the rule of the policy. */
  declare readonly rule?: string;
  /** All parameters at fault of a 400 about parameters; empty for other errors. */
  readonly errors: readonly ParameterError[];
  readonly headers: Headers;

  constructor(status: number, body: Partial<ErrorBody>, headers: Headers) {
    super(body.message ?? `The service responded with status ${status}.`);
    this.status = status;
    this.type = body.type ?? "api_error";
    this.code = body.code ?? null;
    this.param = body.param ?? null;
    this.requestId = body.request ?? headers.get("service-request-id");
    this.docUrl = body.doc_url ?? null;
    this.errors = body.errors ?? [];
    this.headers = headers;
    if (body.decline_code !== undefined) this.declineCode = body.decline_code;
    if (body.transaction !== undefined) this.transaction = body.transaction;
    if (body.policy !== undefined) this.policy = body.policy;
    if (body.rule !== undefined) this.rule = body.rule;
  }

  /** Whether something that was thrown is an error of the service with this code. */
  static is<C extends ErrorCode>(
    error: unknown,
    code: C,
  ): error is ApiError & { code: C } & (C extends keyof ErrorDetails ? ErrorDetails[C] : unknown) {
    return error instanceof ApiError && error.code === code;
  }

  /** The error that a response stands for. */
  static of(status: number, body: Partial<ErrorBody>, headers: Headers): ApiError {
    if (body.type === "idempotency_error") return new IdempotencyError(status, body, headers);
    const kind = KINDS[status] ?? (status >= 500 ? ServerError : ApiError);
    return new kind(status, body, headers);
  }
}

/** 400: the request is invalid; `param` names the parameter. */
export class InvalidRequestError extends ApiError {
  override name = "InvalidRequestError";
}

/** 401: the key is missing, invalid or revoked. */
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}

/** 402: the payment failed or was not authorized. */
export class PaymentError extends ApiError {
  override name = "PaymentError";
}

/** 403: the key lacks a scope, the account is suspended, or a policy blocks the request. */
export class PermissionError extends ApiError {
  override name = "PermissionError";
}

/** 404: something that the request names does not exist. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}

/** 409: the request conflicts with the current state. */
export class ConflictError extends ApiError {
  override name = "ConflictError";
}

/** 412: the object was changed since the version that `ifMatch` names. */
export class VersionConflictError extends ApiError {
  override name = "VersionConflictError";
}

/** 429, after all retries. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
}

/** 500 or 503, after all retries. */
export class ServerError extends ApiError {
  override name = "ServerError";
}

/** An idempotency key was used with other parameters (400), or its first request is still in flight after all retries (409). */
export class IdempotencyError extends ApiError {
  override name = "IdempotencyError";
}

const KINDS: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: PaymentError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: VersionConflictError,
  429: RateLimitError,
};
