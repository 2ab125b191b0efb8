/** The routes of V1, by noun. */
import type { AppContext } from '../../context.ts';
import { conversationFileRoutes } from './conversation-files.ts';
import { conversationRoutes } from './conversations.ts';
import { eventRoutes } from './events.ts';
import { lookupRoutes } from './lookups.ts';
import { messageRoutes } from './messages.ts';
import { profileRoutes } from './profiles.ts';
import { sandboxSecretRoutes } from './sandbox-secrets.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { secretRoutes } from './secrets.ts';
import { settingsRoutes } from './settings.ts';
import { sharedRoutes } from './shared.ts';
import { startRoutes } from './starts.ts';
import { switchRoutes } from './switches.ts';
import { webClientRoutes } from './web-client.ts';
import type { Route } from '../../route.ts';

export function v1Routes(context: AppContext): Route[] {
  return [
    ...startRoutes(context),
    ...conversationRoutes(context),
    ...messageRoutes(context),
    ...switchRoutes(context),
    ...conversationFileRoutes(context),
    ...eventRoutes(context),
    ...sharedRoutes(context),
    ...sandboxRoutes(context),
    ...sandboxSecretRoutes(context),
    ...settingsRoutes(context),
    ...profileRoutes(context),
    ...secretRoutes(context),
    ...lookupRoutes(context),
    ...webClientRoutes(),
  ];
}
