import type { Context } from 'hono';
import type * as v from 'valibot';
import { readJson, readQuery } from '../../http/request.ts';
import type { AppRoute } from '../../served-routes.ts';

/** By route. What a handler returns is sent as JSON with status 200, unless it is a Response. */
export type AppHandlers = { readonly [Route in AppRoute]?: (c: Context) => unknown };

/** A handler of the checked body. */
export const body =
  <S extends v.GenericSchema>(schema: S, handle: (given: v.InferOutput<S>, c: Context) => unknown) =>
  async (c: Context): Promise<unknown> =>
    handle(await readJson(c, schema), c);

/** A handler of the checked query. */
export const query =
  <S extends v.GenericSchema>(schema: S, handle: (given: v.InferOutput<S>, c: Context) => unknown) =>
  (c: Context): unknown =>
    handle(readQuery(c, schema), c);
