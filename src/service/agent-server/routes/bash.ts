/** Commands of the client's own. */
import type { Hono } from 'hono';
import { bashCommand, bashEventSearch } from '../../../protocol/agent-server/requests.ts';
import type { WorkerContext } from '../context.ts';
import { HttpRefusal, readBody, readQuery } from '../http.ts';

export function bashRoutes(app: Hono, { bash }: WorkerContext): void {
  app.post('/api/bash/execute_bash_command', async (context) =>
    context.json(await bash.execute(await readBody(context, bashCommand))),
  );

  app.post('/api/bash/start_bash_command', async (context) =>
    context.json(bash.start(await readBody(context, bashCommand))),
  );

  app.get('/api/bash/bash_events/search', (context) => context.json(bash.search(readQuery(context, bashEventSearch))));

  app.get('/api/bash/bash_events/:id', (context) => {
    const id = context.req.param('id').replaceAll('-', '');
    const found = bash.events.find((event) => event.id === id);
    if (found === undefined) throw new HttpRefusal(404, 'Event not found');
    return context.json(found);
  });
}
