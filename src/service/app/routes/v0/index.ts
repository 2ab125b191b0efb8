/** The routes of V0, by noun. */
import type { Route } from '../../app.ts';
import type { AppContext } from '../../context.ts';

export function v0Routes(_context: AppContext): Route[] {
  return [];
}
