// How the attempts of an endpoint went, hour by hour.

const HOUR = 3_600_000;

/**
 * The value below which a share of the numbers lies; null without any.
 * @param {number[]} numbers in their order
 * @param {number} share
 */
const quantile = (numbers, share) =>
  numbers.length ? numbers[Math.min(numbers.length - 1, Math.ceil(share * numbers.length) - 1)] : null;

/**
 * Attempts by the hour in which they were made.
 * @param {{ created: string, status: string, latency: number | null }[]} attempts
 * @param {number} at the time of the service, in milliseconds
 * @param {number} hours how many, the present one among them
 */
export function hoursOf(attempts, at, hours) {
  const end = Math.floor(at / HOUR + 1) * HOUR;
  const slots = Array.from({ length: hours }, (_, index) => ({
    from: end - (hours - index) * HOUR,
    until: end - (hours - index - 1) * HOUR,
  }));
  const grouped = slots.map(({ from, until }) =>
    attempts.filter(({ created }) => Date.parse(created) >= from && Date.parse(created) < until),
  );
  const latencies = grouped.map((group) =>
    group.flatMap(({ latency }) => (latency === null ? [] : [latency])).sort((one, other) => one - other),
  );
  return {
    slots,
    succeeded: grouped.map((group) => group.filter(({ status }) => status === 'succeeded').length),
    failed: grouped.map((group) => group.filter(({ status }) => status !== 'succeeded').length),
    median: latencies.map((numbers) => quantile(numbers, 0.5)),
    slow: latencies.map((numbers) => quantile(numbers, 0.95)),
  };
}

/**
 * The body of the delivery of an event to an endpoint. With the payload `thin` the object has only its id and kind.
 * @param {import('../../../types').Event} event
 * @param {{ payload: string } | null} endpoint
 */
export function payloadOf(event, endpoint) {
  const { id, object } = /** @type {{ id?: string, object?: string }} */ (event.data.object);
  return endpoint?.payload === 'thin' && id ? { ...event, data: { object: { id, object } } } : event;
}
