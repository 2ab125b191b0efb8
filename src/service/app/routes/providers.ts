/** What both dialects need to ask a git provider. */
import { refuse } from '../../http/request.ts';
import { ForgejoError } from '../repositories/forgejo.ts';

/** What a provider said; a provider that did not is told as a 502. */
export async function answered<Value>(asked: Promise<Value>): Promise<Value> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ForgejoError) throw refuse(502, `The git provider cannot be asked: ${error.message}`);
    throw error;
  }
}
