/**
 * An environment of Rekindle: a JSON object a line in, a JSON object a line out. The policy guesses the task's answer and is told
 * whether the guess is too low or too high. Any language will do; this is all that there is to it. See docs/environments.md.
 */
import { createInterface } from 'node:readline';

let secret;
let guess;

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  console.log(JSON.stringify(answer(message)));
}

function answer(message) {
  switch (message.type) {
    case 'open':
      secret = Number(message.task.answer);
      return { observation: message.task.prompt };
    case 'step':
      guess = Number(message.response.trim() || NaN);
      if (guess === secret) return verdict();
      return { observation: Number.isNaN(guess) ? '?:' : guess < secret ? '<:' : '>:' };
    case 'end':
      return verdict();
  }
}

function verdict() {
  const closeness = Number.isNaN(guess) ? 0 : 1 / (1 + Math.abs(guess - secret) / 10);
  return { rewards: { solved: guess === secret ? 1 : 0, closeness }, done: true };
}
