/** What a server has of git providers, over the routes of V1 where it has them, else over those of V0. */
import type { Dialect } from '../../domain/conversation.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { GitPort } from './port.ts';
import { createLookups } from './lookups.ts';
import { createProviders } from './providers.ts';

export function createGit(links: Links, facts: ProbeFacts): GitPort {
  const { dialects, features } = facts;
  const isV1 = !dialects.includes('v0') || (dialects.includes('v1') && features['v1-git'] === 'present');
  const dialect: Dialect = isV1 ? 'v1' : 'v0';
  return { ...createProviders(links, dialect), ...createLookups(links, dialect) };
}
