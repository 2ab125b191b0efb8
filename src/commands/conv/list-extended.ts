/** `conv list` with --cost or --all-profiles. */
import type { Context } from '../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { View } from '../../output/view.ts';
import { noticeMore, readActive, type ListRequest } from '../shared/lists.ts';
import { conversationView } from './conversations.ts';
import { readCosts, totalLine } from './list-costs.ts';
import { readAllProfiles } from './list-profiles.ts';

export interface ExtendedOptions {
  cost?: boolean;
  allProfiles?: boolean;
}

export async function printExtended(
  ctx: Context,
  request: ListRequest<Conversation>,
  options: ExtendedOptions,
): Promise<void> {
  const view = viewOf(options);
  ctx.out.check(view, 'list');
  const readActiveProfile = async () => {
    const { server, items, has_more } = await readActive(ctx, request);
    return {
      listed: items.map((conversation) => ({ conversation, server, profile: null })),
      has_more,
    };
  };
  const { listed, has_more } = options.allProfiles
    ? await readAllProfiles(ctx, request)
    : await readActiveProfile();
  const total = options.cost ? await readCosts(ctx, listed) : undefined;
  const items = listed.map(({ conversation, profile }) => ({ ...conversation, profile }));
  const none = request.filter && 'none match';
  await ctx.out.list(view, items, { has_more, ...(total && { total }) }, none);
  await noticeMore(ctx, { has_more }, request);
  if (total && ctx.out.format !== 'json') await ctx.notice(totalLine(total));
}

/** In a table the columns that the flags add are beside the status: the last ones may not fit. */
function viewOf({
  cost,
  allProfiles,
}: ExtendedOptions): View<Conversation & { profile: string | null }> {
  const { fields, table = [], tsv = [] } = conversationView;
  const own = allProfiles ? ['profile'] : [];
  const added = cost ? [...own, 'status', 'cost_usd'] : [...own, 'status'];
  return {
    ...conversationView,
    fields: allProfiles ? [...fields, { name: 'profile', weight: 2 }] : fields,
    table: table.flatMap((name) => (name === 'status' ? added : [name])),
    tsv: [...tsv, ...own],
  };
}
