//! Database protocol sessions without I/O
