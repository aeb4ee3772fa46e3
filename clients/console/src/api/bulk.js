// What can be done with many objects of a list. The dialog that does it is loaded when it is needed.

/**
 * A request of the API.
 * @typedef {{ method: 'POST' | 'DELETE', path: string, body?: object }} Call
 *
 * What is known of the objects of a list.
 * @typedef {import('../ui/objects.js').Named} Named
 */

/**
 * Something that can be done with many objects.
 * @template {Named} [T=Named]
 * @typedef {object} BulkAction
 * @property {string} label of the button
 * @property {string} question
 * @property {(object: T) => boolean} [applies] whether it can be done with an object; with all of them without it
 * @property {(object: T) => Call} call
 * @property {(object: T) => Call} [undo] takes back what was done; without it the question says that it cannot be
 *   undone
 * @property {boolean} [trial] whether the API can be asked with dry_run
 * @property {boolean} [danger]
 */

/**
 * A change of the status, and back.
 * @param {string} path of the list
 * @param {string} status
 * @returns {Pick<BulkAction<Named & { status: string }>, 'call' | 'undo'>}
 */
export const statusChange = (path, status) => ({
  call: ({ id }) => ({ method: 'POST', path: `${path}/${id}`, body: { status } }),
  undo: ({ id, status: before }) => ({ method: 'POST', path: `${path}/${id}`, body: { status: before } }),
});
