/** `/v1/models`: the one model that is served. */
import type { Exchange } from '../http/exchange.ts';
import type { Serving } from '../serving.ts';

export function listModels(serving: Serving, exchange: Exchange): void {
  exchange.sendJson(200, { object: 'list', data: [card(serving)] });
}

export function retrieveModel(serving: Serving, exchange: Exchange): void {
  exchange.sendJson(200, card(serving));
}

function card({ model, started }: Serving): object {
  return {
    id: model.name,
    object: 'model',
    created: started,
    owned_by: 'rekindle',
    root: model.path,
    parent: null,
    max_model_len: model.config.maxPositions,
  };
}
