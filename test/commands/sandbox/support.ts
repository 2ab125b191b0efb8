import type { World } from '../../support/world.ts';

/** The id of a new sandbox. */
export async function startSandbox(world: World): Promise<string> {
  const { code, out, err } = await world.acs('sandbox', 'start', '--json');
  if (code !== 0) throw new Error(`sandbox start ended with ${code}: ${err}`);
  return (JSON.parse(out) as { id: string }).id;
}
