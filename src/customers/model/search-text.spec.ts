import { describe, expect, it } from '@jest/globals';
import { foldCase, likePatterns } from './search-text.js';

describe('search', () => {
  it.each([
    ['JÜRGEN', 'jurgen'],
    ['Weiß', 'weiss'],
    ['Łukasz Ørsted Đorđe', 'lukasz orsted dorde'],
    ['Žiga Kovačič', 'ziga kovacic'],
    ['İstanbul', 'istanbul'],
    ['Élodie', 'elodie'],
  ])('folds accents and case of %s', (text, folded) => {
    expect(foldCase(text)).toBe(folded);
    expect(foldCase(folded)).toBe(folded);
  });

  it('looks for every word', () => {
    expect(likePatterns(' Anna  HUB ')).toEqual(['%anna%', '%hub%']);
  });

  it('escapes the wildcards of LIKE', () => {
    expect(likePatterns('100%_\\')).toEqual(['%100\\%\\_\\\\%']);
  });
});
