/** What changed in the workspace. */
import type { Context, Hono } from 'hono';
import { pathQuery } from '../../../protocol/agent-server/requests.ts';
import { IsolationError } from '../../isolation/connection.ts';
import type { WorkerContext } from '../context.ts';
import { HttpRefusal, pathAtEnd, readQuery } from '../http.ts';

export function gitRoutes(app: Hono, { sandbox }: WorkerContext): void {
  const changes = async (context: Context, path: string, ref?: string): Promise<Response> => {
    const found = await sandbox.ask('git_changes', { path, ref: ref ?? null });
    return context.json(found.changes);
  };
  const diff = async (context: Context, path: string, ref?: string): Promise<Response> => {
    try {
      const { modified, original } = await sandbox.ask('git_diff', { path, ref: ref ?? null });
      return context.json({ modified, original });
    } catch (error) {
      // Genuine servers answer 400 here, not 404.
      if (error instanceof IsolationError && error.code === 'not-found') throw new HttpRefusal(400, error.message);
      throw error;
    }
  };
  for (const [name, answer] of Object.entries({ changes, diff })) {
    app.get(`/api/git/${name}`, (context) => {
      const { path, ref } = readQuery(context, pathQuery);
      return answer(context, path, ref);
    });
    app.get(`/api/git/${name}/:path{.+}`, (context) => answer(context, pathAtEnd(context)));
  }
}
