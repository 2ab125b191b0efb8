/** Members of requests that have one of several shapes, with the wording of the genuine servers (detail.ts). */
import * as v from 'valibot';
import { check, words } from './check.ts';
import { openRecord } from './detail.ts';

/**
 * An object of one of some kinds, by its member `kind`; `family` is the class that the servers name in a refusal. What
 * a refusal echoes is the object without its kind.
 */
export const kindOf = (family: string, kinds: readonly string[]) =>
  v.pipe(
    openRecord(),
    v.rawCheck<Record<string, unknown>>(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const { kind = '', ...input } = dataset.value;
      if (kinds.some((each) => each === kind)) return;
      const given = typeof kind === 'object' ? '' : String(kind).slice(0, 50);
      const error = `Unknown kind '${given}' for ${family}; Expected one of: [${kinds.map((each) => `'${each}'`).join(', ')}]`;
      addIssue({ message: words('value_error', `Value error, ${error}`, { error }), input });
    }),
  );

/**
 * A union of records, by the names that genuine servers give them. For a value that matches none, the validation error
 * lists the mismatches with each.
 */
export const anyOf = <const Options extends Record<string, v.GenericSchema>>(options: Options) => {
  type Output = v.InferOutput<Options[keyof Options]>;
  const schema = v.pipe(
    v.unknown(),
    v.rawTransform<unknown, Output>(({ dataset, addIssue, NEVER }) => {
      const tried = Object.entries(options).map(([name, option]) => ({
        name,
        result: check(option, dataset.value, 'body'),
      }));
      for (const { result } of tried) if (result.ok) return result.value;
      for (const { name, result } of tried) {
        for (const { type, loc, msg, input, ctx } of result.ok ? [] : result.detail) {
          const path = loc.slice(1).map(pathItem);
          addIssue({ message: words(type, msg, ctx), input: input ?? null, path: [pathItem(name), ...path] });
        }
      }
      return NEVER;
    }),
  );
  // For who walks through a schema: it does not see what a function holds.
  return Object.assign(schema, { named: options });
};

function pathItem(key: string | number): v.UnknownPathItem {
  return { type: 'unknown', origin: 'value', input: null, key, value: null };
}
