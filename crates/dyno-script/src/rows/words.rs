//! Plain words, for texts that read like some.

use crate::random::Random;

/// Appends a word.
pub(super) fn write_word(random: &mut Random, out: &mut Vec<u8>) {
    // The upper bits, of which there are as many as it takes to number the words.
    let word = WORDS[(random.bits() >> 56) as usize];
    out.extend_from_slice(word.as_bytes());
}

const WORDS: [&str; 256] = [
    "able", "about", "above", "acid", "across", "act", "add", "after", "again", "age", "ago", "air", "all", "also",
    "among", "angle", "animal", "answer", "apple", "area", "arm", "army", "art", "ask", "autumn", "away", "baby",
    "back", "bad", "bag", "ball", "band", "bank", "bare", "base", "bath", "bean", "bear", "beat", "become", "bed",
    "before", "begin", "behind", "bell", "below", "best", "better", "between", "big", "bird", "black", "blood", "blue",
    "board", "boat", "body", "bone", "book", "born", "both", "bottle", "bottom", "box", "branch", "brave", "bread",
    "break", "bridge", "bright", "bring", "broad", "brother", "brown", "build", "burn", "busy", "butter", "buy",
    "cake", "call", "camp", "candle", "capital", "card", "care", "carry", "case", "castle", "cat", "catch", "cause",
    "centre", "chain", "chair", "chance", "change", "cheap", "child", "choose", "church", "circle", "city", "class",
    "clean", "clear", "clever", "climb", "clock", "close", "cloth", "cloud", "coast", "coat", "cold", "colour", "come",
    "common", "cook", "cool", "copper", "corn", "corner", "cost", "cotton", "count", "country", "course", "cover",
    "cow", "cross", "crowd", "cry", "cup", "cut", "dance", "danger", "dark", "day", "dear", "deep", "deer", "desert",
    "die", "dinner", "dish", "divide", "doctor", "dog", "door", "double", "down", "draw", "dream", "dress", "drink",
    "drive", "drop", "dry", "during", "dust", "each", "ear", "early", "earth", "east", "easy", "eat", "edge", "egg",
    "eight", "else", "empty", "end", "enemy", "engine", "enjoy", "enough", "enter", "equal", "even", "evening", "ever",
    "every", "eye", "face", "fact", "fall", "family", "famous", "far", "farm", "fast", "father", "feather", "feel",
    "fence", "field", "fight", "fill", "find", "fine", "finger", "fire", "first", "fish", "five", "flat", "floor",
    "flour", "flower", "fly", "follow", "food", "foot", "forest", "forget", "fork", "form", "four", "free", "fresh",
    "friend", "front", "fruit", "full", "game", "garden", "gate", "gentle", "gift", "girl", "give", "glad", "glass",
    "gold", "good", "grain", "grass", "great", "green", "ground", "group", "grow", "guess", "hair", "half", "hall",
    "hand", "happy", "harbour", "hard", "hat", "head", "hear", "heart",
];
