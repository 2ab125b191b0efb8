/** The routes of V0, by noun. */
import type { AppContext } from '../../context.ts';
import { conversationRoutes } from './conversations.ts';
import { eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { optionRoutes } from './options.ts';
import { secretRoutes } from './secrets.ts';
import { settingsRoutes } from './settings.ts';
import type { Route } from '../../route.ts';

export function v0Routes(context: AppContext): Route[] {
  return [
    ...optionRoutes(context),
    ...settingsRoutes(context),
    ...secretRoutes(context),
    ...conversationRoutes(context),
    ...eventRoutes(context),
    ...fileRoutes(context),
  ];
}
