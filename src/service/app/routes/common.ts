/** Routes of both dialects: probes, and the document that lists every route. */
import type { AppContext } from '../context.ts';
import { json } from '../../http/request.ts';
import { openapiDocument } from '../openapi.ts';
import type { Route } from '../route.ts';

export function commonRoutes(context: AppContext, served: Route[]): Route[] {
  const open = (path: string, body: () => unknown): Route => ({
    method: 'GET',
    path,
    isOpen: true,
    handle: () => json(body()),
  });
  const probes = [
    open('/alive', () => ({ status: 'ok' })),
    open('/health', () => 'OK'),
    open('/server_info', () => ({
      uptime: (context.clock.now() - context.startedAtMs) / 1000,
      idle_time: context.activity.idleSeconds(),
      resources: context.resources(),
    })),
    open('/ready', () => 'OK'),
  ];
  // Our own: whether the service can be replaced by one of another version.
  const activity: Route = {
    method: 'GET',
    path: '/local/activity',
    handle: () => {
      const { conversations, sandboxes, startTasks } = context.store;
      const sandboxesRunning = sandboxes.all().filter(({ status }) => status === 'RUNNING').length;
      return json({
        running: conversations.isAnyRunning() || startTasks.unfinished().length > 0,
        conversations_running: conversations.countRunning(),
        sandboxes_running: sandboxesRunning,
      });
    },
  };
  const all = [...served, ...probes, activity];
  return [...probes, activity, open('/openapi.json', () => openapiDocument(all, context.version))];
}
