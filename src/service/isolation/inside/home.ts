import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HOME_INSIDE } from '../bubblewrap.ts';

/**
 * Inside bubblewrap the home is new and empty: git needs a name to commit, and must not refuse a workspace whose owner
 * is mapped to another user. The home of a person is not changed.
 */
export function prepareHome(home: string | undefined): void {
  if (home !== HOME_INSIDE) return;
  const file = path.join(home, '.gitconfig');
  if (existsSync(file)) return;
  writeFileSync(file, '[user]\n\tname = agent\n\temail = agent@localhost\n[safe]\n\tdirectory = *\n');
}
