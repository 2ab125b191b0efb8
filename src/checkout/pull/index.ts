/**
 * The changes of a conversation, put among the user's files: into a checkout as uncommitted changes, on a new branch as a
 * commit, or into a new folder. All or nothing.
 */
import { intoCheckout, type IntoCheckout } from './into-checkout.ts';
import { checkFolder, intoFolder } from './into-folder.ts';
import { checkBranch, ontoBranch, type OntoBranch } from './onto-branch.ts';
import type { Retrieved } from './apply.ts';
import type { Asking, Retrieval } from './stage.ts';

export type { Retrieved } from './apply.ts';

export interface Retriever {
  intoCheckout(asked: IntoCheckout): Promise<Retrieved>;
  /** Throws `usage` for a name git refuses, `conflict` for a branch that exists. */
  checkBranch(root: string, branch: string): Promise<void>;
  ontoBranch(asked: OntoBranch): Promise<Retrieved & { commit: string | null }>;
  /** Throws `conflict` for a folder that has files, `config` where none can be made. */
  checkFolder(folder: string): void;
  intoFolder(asked: Retrieval & { folder: string }): Promise<Retrieved>;
}

export function createRetriever(asking: Asking): Retriever {
  return {
    intoCheckout: (asked) => intoCheckout(asked, asking),
    checkBranch: (root, branch) => checkBranch(root, branch, asking),
    ontoBranch: (asked) => ontoBranch(asked, asking),
    checkFolder,
    intoFolder: (asked) => intoFolder(asked, asking),
  };
}
