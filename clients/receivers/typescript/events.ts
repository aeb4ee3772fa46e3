/** What express.ts and lambda.ts do with an event. */
import type { Event } from "fleet-charging";

/** The ids of events that were handled. Keep them with your data: this set is lost when the program ends. */
const handled = new Set<string>();

export async function handle(event: Event): Promise<void> {
  if (handled.has(event.id)) return;
  handled.add(event.id);
  console.log(event.type, event.id);
}
