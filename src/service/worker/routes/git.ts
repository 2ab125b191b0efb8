/** What changed in the workspace. */
import type { Hono } from 'hono';
import { pathQuery } from '../../../protocol/agent-server/requests.ts';
import { JailError } from '../../jail/connection.ts';
import type { WorkerContext } from '../context.ts';
import { HttpRefusal, readQuery } from '../http.ts';

export function gitRoutes(app: Hono, { sandbox }: WorkerContext): void {
  app.get('/api/git/changes', async (context) => {
    const { path, ref } = readQuery(context, pathQuery);
    const { changes } = await sandbox.ask('git_changes', { path, ref: ref ?? null });
    return context.json(changes);
  });

  app.get('/api/git/diff', async (context) => {
    const { path, ref } = readQuery(context, pathQuery);
    try {
      const { modified, original } = await sandbox.ask('git_diff', { path, ref: ref ?? null });
      return context.json({ modified, original });
    } catch (error) {
      // Genuine servers answer 400 here, not 404.
      if (error instanceof JailError && error.code === 'not-found') throw new HttpRefusal(400, error.message);
      throw error;
    }
  });
}
