/** Symbolic links of a folder that is copied. */

/**
 * Whether a link stays in the folder that is copied, wherever its other links lead: its target is relative, and climbs
 * only at its beginning, where the folders above it are known to be folders.
 * @param depth number of folders between the link and the folder that is copied
 */
export function staysInside(target: string, depth: number): boolean {
  if (target.startsWith('/') || target === '') return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const climbs = parts.findIndex((part) => part !== '..');
  const up = climbs === -1 ? parts.length : climbs;
  return up <= depth && !parts.slice(up).includes('..');
}

export const LEADS_OUT = 'a link that leads out of the folder';
