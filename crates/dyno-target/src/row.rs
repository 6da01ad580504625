//! Rows of text as values.

/// A value of a result.
pub trait FromText: Sized {
    /// The value of this text; `None` for NULL or a text of another kind.
    fn from_text(text: Option<&str>) -> Option<Self>;
}

macro_rules! parsed {
    ($($type:ty),*) => {
        $(impl FromText for $type {
            fn from_text(text: Option<&str>) -> Option<Self> {
                text?.parse().ok()
            }
        })*
    };
}

parsed!(String, u8, u16, u32, u64, i64, f64);

impl<T: FromText> FromText for Option<T> {
    fn from_text(text: Option<&str>) -> Option<Self> {
        match text {
            None => Some(None),
            text => T::from_text(text).map(Some),
        }
    }
}

/// A row of a result.
pub trait FromRow: Sized {
    /// The row of these values; `None` if there are others.
    fn from_row(row: &[Option<String>]) -> Option<Self>;
}

impl<T: FromText> FromRow for T {
    fn from_row(row: &[Option<String>]) -> Option<Self> {
        match row {
            [value] => T::from_text(value.as_deref()),
            _ => None,
        }
    }
}

macro_rules! rows {
    ($(($($name:ident),*)),*) => {
        $(impl<$($name: FromText),*> FromRow for ($($name,)*) {
            fn from_row(row: &[Option<String>]) -> Option<Self> {
                let mut values = row.iter().map(Option::as_deref);
                let row = ($($name::from_text(values.next()?)?,)*);
                values.next().is_none().then_some(row)
            }
        })*
    };
}

rows!(
    (A, B),
    (A, B, C),
    (A, B, C, D),
    (A, B, C, D, E),
    (A, B, C, D, E, F),
    (A, B, C, D, E, F, G, H, I)
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_the_type_that_is_asked_for_or_refused() {
        let row = |values: &[Option<&str>]| values.iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>();
        let pair = row(&[Some("a"), Some("7")]);
        assert_eq!(FromRow::from_row(&pair), Some(("a".to_owned(), 7_u64)));
        assert_eq!(<(u64, u64)>::from_row(&pair), None);
        assert_eq!(String::from_row(&pair), None);
        assert_eq!(Option::<u64>::from_row(&row(&[None])), Some(None));
        assert_eq!(u64::from_row(&row(&[None])), None);
        assert_eq!(<(String, u64)>::from_row(&row(&[Some("a")])), None);
    }
}
