/** A task's prompt as chat messages, for models with a chat template. */
import type { Recipe } from '../recipe.ts';

export interface ChatMessage {
  role: 'system' | 'user';
  content: string;
}

export function chatMessages(settings: Recipe['prompt'], prompt: string): ChatMessage[] {
  const user: ChatMessage = { role: 'user', content: prompt };
  return settings.system === undefined ? [user] : [{ role: 'system', content: settings.system }, user];
}
