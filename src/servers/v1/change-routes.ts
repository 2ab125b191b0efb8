/** Where a V1 conversation is changed: releases that speak V0, too, may do it at the routes of V0, which know V1 ids. */
import { normalId } from '../ids.ts';
import type { ProbeFacts } from '../probe.ts';

/** Whether title and deletion belong to the route of V1; release 1.6.0 ignores the one there and lacks the other. */
export function changesOverV1(facts: ProbeFacts): boolean {
  return facts.features.includes('delete-conversation') || !facts.dialects.includes('v0');
}

export function routeOfV1(id: string): string {
  return `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
}

export function routeOfV0(id: string): string {
  return `/api/conversations/${encodeURIComponent(normalId(id))}`;
}
