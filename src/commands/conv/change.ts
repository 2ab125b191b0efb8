/** The way of every command that changes several conversations: which ones, the question before, and the result. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import {
  changeEach,
  changeOne,
  confirmChange,
  endOfDryRun,
  failedItem,
  readIds,
  serversOf,
  type Change,
  type Target,
} from '../bulk.ts';
import { checkIdWord, conversationFinder } from '../ids.ts';
import { collectList, hasSeveralProfiles } from '../paging.ts';
import { readSelection, type SelectorOptions } from '../selectors.ts';
import { blankConversation } from '../../runs/endings.ts';
import { conversationTest } from './selection.ts';
import { conversationView, idOf } from './view.ts';
import type { BulkItem } from '../../output/options.ts';

export interface ChangeOptions extends SelectorOptions {
  all?: boolean;
  force?: boolean;
  ignoreNotFound?: boolean;
}

/** What the change of one conversation knows of its command. */
export interface ChangeRequest {
  options: ChangeOptions;
  /** All conversations that the command changes, this one included. */
  targets: readonly ConversationTarget[];
  /** Those of them that the command has refused or failed to change so far. */
  unchanged: Set<ConversationTarget>;
}

export interface ConversationTarget extends Target {
  /** As it was when it was chosen; in `apply`, as it was read right before. */
  seen: Conversation;
  chosenBy: 'id' | 'selector';
  /** Whether a record satisfies the selectors; undefined: every record does. */
  isSelected?: (conversation: Conversation) => boolean;
}

export interface ConversationVerb {
  /** `delete`, for questions. */
  word: string;
  /** `deleted`, for the summary. */
  past: string;
  /** Whether it must be answered for even when the ids are given. */
  asks: 'always' | 'by-selector';
  /** Conversations besides the targets that the change hits; they are named before the question. */
  alsoHit?(ctx: Context, targets: readonly ConversationTarget[]): Promise<Conversation[]>;
  apply(ctx: Context, target: ConversationTarget, request: ChangeRequest): Promise<Change<Conversation>>;
  /** The result for a conversation that disappeared after it was chosen; null, or no such member: `not-found`. */
  ifGone?(target: ConversationTarget, request: ChangeRequest): Change<Conversation> | null;
}

/** Runs a verb over ids or selectors; prints the object for one id, a bulk result for anything else. */
export async function changeConversations(
  ctx: Context,
  verb: ConversationVerb,
  given: readonly string[],
  options: ChangeOptions,
): Promise<void> {
  const bySelector = readSelection(options) !== null || options.all === true;
  checkChoice(verb, given, bySelector);
  const single = given.length === 1 && given[0] !== '-' && !hasSeveralProfiles(ctx);
  ctx.out.check(conversationView, single ? 'item' : 'bulk');
  for (const word of given) if (word !== '-') checkIdWord(word);
  if (single) return await changeNamed(ctx, verb, given[0] ?? '', options);
  const chosen = bySelector
    ? await chooseBySelector(ctx, options)
    : await chooseByIds(ctx, await readIds(ctx, given), options);
  if (chosen.targets.length > 0 && (bySelector || verb.asks === 'always')) await ask(ctx, verb, chosen.targets);
  const request: ChangeRequest = { options, targets: chosen.targets, unchanged: new Set() };
  await changeEach(ctx, {
    targets: chosen.targets,
    lost: chosen.lost,
    past: verb.past,
    apply: (target) => applyToFresh(ctx, verb, target as ConversationTarget, request),
  });
}

/** Reads the conversation again right before the change: what a selector chose must still satisfy it. */
async function applyToFresh(
  ctx: Context,
  verb: ConversationVerb,
  target: ConversationTarget,
  request: ChangeRequest,
): Promise<Change<Conversation>> {
  const { server, id, isSelected } = target;
  try {
    const now = await server.conversations.get(id);
    if (isSelected?.(now) === false) {
      throw new AppError('conflict', `conversation ${id} is ${now.status} now and no longer matches the selectors`);
    }
    return await verb.apply(ctx, { ...target, seen: now }, request);
  } catch (error) {
    const change = isNotFound(error) ? verb.ifGone?.(target, request) : undefined;
    if (change != null) return change;
    // A dry run ends with another kind of error.
    if (isAppError(error)) request.unchanged.add(target);
    throw error;
  }
}

function checkChoice(verb: ConversationVerb, given: readonly string[], bySelector: boolean): void {
  if (given.length > 0 && bySelector) throw new AppError('usage', 'give either ids or selectors, not both');
  if (given.length === 0 && !bySelector) {
    throw new AppError('usage', `conv ${verb.word} needs an id or a selector`, {
      hint: `acs conv ${verb.word} <id>, --status <word>, --older-than <duration>, … or --all`,
    });
  }
}

async function changeNamed(ctx: Context, verb: ConversationVerb, word: string, options: ChangeOptions): Promise<void> {
  const server = await ctx.server();
  const seen = await findOrIgnore(ctx, server, word, options);
  if (seen === null && ctx.globals.mode === 'dry-run') throw endOfDryRun();
  if (seen === null)
    return await ctx.out.item(conversationView, blankConversation(word, 'deleted'), { changed: false });
  const target: ConversationTarget = { id: idOf(seen), server, seen, chosenBy: 'id' };
  if (verb.asks === 'always') await ask(ctx, verb, [target]);
  const request: ChangeRequest = { options, targets: [target], unchanged: new Set() };
  await changeOne(ctx, conversationView, target, () => applyToFresh(ctx, verb, target, request));
}

async function findOrIgnore(
  ctx: Context,
  server: Server,
  word: string,
  { ignoreNotFound }: ChangeOptions,
): Promise<Conversation | null> {
  try {
    return await conversationFinder(ctx, server).find(word);
  } catch (error) {
    if (ignoreNotFound && isNotFound(error)) return null;
    throw error;
  }
}

interface Chosen {
  targets: ConversationTarget[];
  lost: BulkItem[];
}

async function chooseBySelector(ctx: Context, options: ChangeOptions): Promise<Chosen> {
  const selection = readSelection(options);
  const { reached, lost } = await serversOf(ctx);
  const targets: ConversationTarget[] = [];
  for (const { profile, server } of reached) {
    try {
      const filter = await conversationTest(ctx, server, selection);
      const { items } = await collectList({
        fetch: (page, pageSize) => server.conversations.list({ pageSize, omissions: 'say' }, page),
        id: (conversation) => conversation.id,
        ...(filter ? { filter } : {}),
        limit: Number.POSITIVE_INFINITY,
        signal: ctx.signal,
      });
      const chosen = { server, chosenBy: 'selector' as const, ...(filter && { isSelected: filter }) };
      for (const seen of items) targets.push({ ...chosen, id: idOf(seen), seen, ...(profile ? { profile } : {}) });
    } catch (error) {
      if (profile === undefined) throw error;
      lost.push(failedItem(null, error, profile));
    }
  }
  return { targets, lost };
}

/** Each id is looked for at every server in force; one that is nowhere is an item with its error. */
async function chooseByIds(ctx: Context, words: readonly string[], options: ChangeOptions): Promise<Chosen> {
  for (const word of words) checkIdWord(word);
  const { reached, lost } = await serversOf(ctx);
  const places = reached.map((place) => ({ ...place, finder: conversationFinder(ctx, place.server) }));
  const targets = new Map<string, ConversationTarget>();
  for (const word of words) {
    let failure: unknown = null;
    let isFound = false;
    for (const { profile, server, finder } of places) {
      try {
        const seen = await finder.find(word);
        const target = { id: idOf(seen), server, seen, chosenBy: 'id' as const, ...(profile ? { profile } : {}) };
        targets.set(`${profile ?? ''} ${target.id}`, target);
        isFound = true;
      } catch (error) {
        if (failure === null || !isNotFound(error)) failure = error;
      }
    }
    if (isFound || failure === null) continue;
    lost.push(options.ignoreNotFound && isNotFound(failure) ? untouched(word) : failedItem(word, failure));
  }
  return { targets: [...targets.values()], lost };
}

function isNotFound(error: unknown): boolean {
  return isAppError(error) && error.kind === 'not-found';
}

function untouched(id: string): BulkItem {
  return { id, ok: true, changed: false, before: null, after: null, error: null };
}

async function ask(ctx: Context, verb: ConversationVerb, targets: readonly ConversationTarget[]): Promise<void> {
  const what = targets.length === 1 ? `conversation ${targets[0]?.id ?? ''}` : `${targets.length} conversations`;
  const others = (await verb.alsoHit?.(ctx, targets)) ?? [];
  const count = others.length === 1 ? 'another conversation' : `${others.length} other conversations`;
  const shared = others.length === 0 ? '' : `, and the sandbox with ${count}`;
  const hit = [...targets.map(hitLine), ...others.map((other) => `in the same sandbox: ${lineOf(other)}`)];
  await confirmChange(ctx, { message: `${verb.word} ${what}${shared}?`, hit });
}

function hitLine({ id, profile, seen }: ConversationTarget): string {
  return lineOf({ ...seen, id }, profile === undefined ? '' : ` of ${profile}`);
}

function lineOf({ id, status, title }: Conversation, at = ''): string {
  return `conversation ${id}${at} (${status})${title ? `: ${title}` : ''}`;
}
