//! A database under test: embedded or by address; settings, data loading, samplers
