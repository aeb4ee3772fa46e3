// What is known of a value of JSON before anybody has looked at it.

/**
 * Whether a value has members, which are of any type.
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
export const isObject = (value) => typeof value === 'object' && value !== null;

/** The members of a value; none where it has none. @param {unknown} value @returns {Record<string, unknown>} */
export const membersOf = (value) => (isObject(value) ? value : {});
