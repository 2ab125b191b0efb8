import type { DocumentStore } from '../../storage/documents.ts';
import { readProfiles } from './profiles.ts';
import { readSettings, valueAt } from './record.ts';

/** Models that the settings and the profiles name: this service has no catalogue of others. */
export function knownModels(documents: DocumentStore): string[] {
  const settings = readSettings(documents);
  const named = [
    settings === null ? undefined : valueAt(settings.agent, 'llm.model'),
    ...Object.values(readProfiles(documents).profiles).map((llm) => llm.model),
  ];
  return [...new Set(named.filter((model) => typeof model === 'string'))].sort();
}
