/** The tree of commands. A command is listed here once it exists; help and completions follow from it. */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { declareCompletion } from './completion/index.ts';
import { declareConversation } from './conv/index.ts';
import { declareHelpTopics } from './help-topics.ts';
import { declareProfile } from './profile/index.ts';
import { declareSandbox } from './sandbox/index.ts';
import { declareServe } from './serve.ts';
import { declareSettings } from './settings/index.ts';
import { declareSpecs } from './specs/index.ts';
import { declareWhoami } from './whoami.ts';

export function declareCommands(root: Command, context: Context): void {
  declareConversation(root, context);
  declareSandbox(root, context);
  declareSpecs(root, context);
  declareSettings(root, context);
  declareProfile(root, context);
  declareWhoami(root, context);
  declareServe(root, context);
  declareCompletion(root, context);
  declareHelpTopics(root, context);
}
