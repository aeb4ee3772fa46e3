/** The types of responses with `expand`. */

type ApiObject = { object: string };

type Head<P extends string> = P extends `${infer First}.${string}` ? First : P;
type Rest<P extends string, K extends string> = P extends `${K}.${infer Others}` ? Others : never;

/** Whether a member is an id that may be the object instead. */
type IsExpandable<V> = [Extract<V, ApiObject>] extends [never]
  ? false
  : [Extract<V, string>] extends [never]
    ? false
    : true;

type Member<V, K extends string, P extends string> =
  IsExpandable<V> extends true
    ? K extends Head<P>
      ? Expanded<Extract<V, ApiObject>, Rest<P, K>> | Extract<V, null | undefined>
      : Exclude<V, ApiObject>
    : V extends string
      ? V
      : V extends readonly (infer Entry)[]
        ? Member<Entry, K, P>[]
        : V extends object
          ? Expanded<V, Rest<P, K>>
          : V;

/**
 * An object whose ids are objects where one of the paths names them, and strings everywhere else:
 * `Expanded<Schemas["Reservation"], "driver">` has a `driver` of type `Driver`, and a `vehicle` of type `string`.
 */
export type Expanded<T, P extends string = never> = T extends unknown
  ? { [K in keyof T]: Member<T[K], K & string, P> }
  : never;
