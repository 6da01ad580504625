//! The grammar of expressions: tokens → tree, by precedence climbing.

use crate::expression::{Binary, Distribution, Expression, Integral, Overloaded, Unary};
use crate::mistake::{Mistake, Shown};
use crate::symbols::Symbols;
use crate::token::{Reader, Token};
use crate::value::Scalar;

/// The deepest tree, and the deepest nesting while parsing. Far more than a person writes; little enough for any
/// thread's stack.
const MAX_DEPTH: usize = 128;

/// Precedences, low to high; `COMPARE` does not associate.
mod precedence {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARE: u8 = 5;
    pub(super) const BITS: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
    pub(super) const SIGN: u8 = 9;
}

/// What an operator between two operands builds.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Binary(Binary),
    /// The operands change places: `a > b` is `b < a`, evaluated in that order, as in pgbench.
    Swapped(Binary),
}

#[derive(Clone, Copy)]
enum Function {
    Unary(Unary),
    Debug,
    Pi,
    Binary(Binary),
    Distribution(Distribution),
    Extremum { greatest: bool },
    Hash(Integral),
    Permute,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("abs", Function::Unary(Unary::Abs)),
    ("debug", Function::Debug),
    ("double", Function::Unary(Unary::Double)),
    ("exp", Function::Unary(Unary::Exp)),
    ("greatest", Function::Extremum { greatest: true }),
    ("hash", Function::Hash(Integral::Murmur2)),
    ("hash_fnv1a", Function::Hash(Integral::Fnv1a)),
    ("hash_murmur2", Function::Hash(Integral::Murmur2)),
    ("int", Function::Unary(Unary::Int)),
    ("least", Function::Extremum { greatest: false }),
    ("ln", Function::Unary(Unary::Ln)),
    ("mod", Function::Binary(Binary::Integral(Integral::Modulo))),
    ("permute", Function::Permute),
    ("pi", Function::Pi),
    ("pow", Function::Binary(Binary::Power)),
    ("power", Function::Binary(Binary::Power)),
    ("random", Function::Binary(Binary::Random)),
    ("random_exponential", Function::Distribution(Distribution::Exponential)),
    ("random_gaussian", Function::Distribution(Distribution::Gaussian)),
    ("random_zipfian", Function::Distribution(Distribution::Zipfian)),
    ("sqrt", Function::Unary(Unary::Sqrt)),
];

/// Parses the expression that extends to the end of the command.
pub(crate) fn parse(reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Expression, Box<Mistake>> {
    let start = reader.offset();
    parse_all(reader, symbols).map_err(|mistake| match reader.last_mistake(start) {
        // pgbench reads the rest of the command before it tells a mistake, and stumbles over what is wrong there.
        Some(last) => mistake.pgbench(last.pgbench.unwrap_or(last.message)).shown(last.shown),
        None => mistake,
    })
}

fn parse_all(reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Expression, Box<Mistake>> {
    let next = reader.token()?;
    let mut parser = Parser {
        reader,
        symbols,
        next,
        nesting: 0,
    };
    let node = parser.expression(precedence::OR)?;
    match parser.next {
        (_, Token::End) => Ok(node.expression),
        _ => Err(parser.unexpected()),
    }
}

/// Parses the longest expression that begins here; the reader stands before what comes behind it.
pub(crate) fn parse_part(reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Expression, Box<Mistake>> {
    let next = reader.token()?;
    let mut parser = Parser {
        reader,
        symbols,
        next,
        nesting: 0,
    };
    let node = parser.expression(precedence::OR)?;
    let (behind, _) = parser.next;
    reader.return_to(behind);
    Ok(node.expression)
}

/// The names of all functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

struct Parser<'r, 'a, 's> {
    reader: &'r mut Reader<'a>,
    symbols: &'s mut Symbols,
    next: (usize, Token<'a>),
    nesting: usize,
}

/// A part of the tree and its depth.
struct Node {
    expression: Expression,
    depth: usize,
}

impl<'a> Parser<'_, 'a, '_> {
    fn advance(&mut self) -> Result<(usize, Token<'a>), Box<Mistake>> {
        let next = self.reader.token()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn expect(&mut self, wanted: Token<'static>) -> Result<(), Box<Mistake>> {
        if self.next.1 != wanted {
            return Err(self.unexpected());
        }
        self.advance().map(drop)
    }

    fn unexpected(&self) -> Box<Mistake> {
        let (at, token) = self.next;
        let message = match token {
            Token::IntMinMagnitude => "bigint constant overflow (9223372036854775808)".to_owned(),
            Token::End if self.reader.is_column() => "syntax error, unexpected end".to_owned(),
            token => format!("syntax error, unexpected {}", token.shown()),
        };
        self.syntax_error(Mistake::new(at, message))
    }

    fn syntax_error(&self, mistake: Box<Mistake>) -> Box<Mistake> {
        let caret = self.reader.caret(self.next.1);
        mistake.pgbench("syntax error").shown(Shown::Caret(caret))
    }

    /// An expression whose operators all bind at least as strongly as `lowest`.
    fn expression(&mut self, lowest: u8) -> Result<Node, Box<Mistake>> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(too_deep(self.next.0));
        }
        let mut left = self.prefix()?;
        let mut compared = false;
        loop {
            let (at, token) = self.next;
            if let Token::Keyword(keyword @ ("is" | "isnull" | "notnull")) = token {
                if precedence::IS < lowest {
                    break;
                }
                self.advance()?;
                left = self.is(left, keyword, at)?;
                compared = false;
                continue;
            }
            let Some((infix, strength)) = infix(token) else { break };
            if strength < lowest {
                break;
            }
            if compared && strength == precedence::COMPARE {
                return Err(self.unexpected());
            }
            self.advance()?;
            let right = self.expression(strength + 1)?;
            compared = strength == precedence::COMPARE;
            left = node(
                at,
                [&left, &right].map(|node| node.depth),
                infix.build(left.expression, right.expression, at),
            )?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// What stands behind IS (NOT), ISNULL or NOTNULL.
    fn is(&mut self, operand: Node, keyword: &str, at: usize) -> Result<Node, Box<Mistake>> {
        let (constant, negated) = match keyword {
            "isnull" => (Scalar::Null, false),
            "notnull" => (Scalar::Null, true),
            _ => {
                let negated = self.next.1 == Token::Keyword("not");
                if negated {
                    self.advance()?;
                }
                let constant = match self.next.1 {
                    Token::Null => Scalar::Null,
                    Token::Bool(value) => Scalar::Bool(value),
                    _ => return Err(self.unexpected()),
                };
                self.advance()?;
                (constant, negated)
            }
        };
        node(
            at,
            [operand.depth],
            Expression::Is {
                operand: Box::new(operand.expression),
                constant,
                negated,
            },
        )
    }

    fn prefix(&mut self) -> Result<Node, Box<Mistake>> {
        let (at, token) = self.next;
        let leaf = |expression| Ok(Node { expression, depth: 1 });
        match token {
            Token::Sign("-") => {
                self.advance()?;
                if self.next.1 == Token::IntMinMagnitude {
                    self.advance()?;
                    return leaf(Expression::Constant(Scalar::Int(i64::MIN)));
                }
                // As in pgbench: 0 - x, so that the least integer cannot be negated.
                let operand = self.expression(precedence::SIGN)?;
                let operation = Binary::Overloaded(Overloaded::Subtract);
                node(at, [operand.depth], with_constant(operation, 0, operand.expression, at))
            }
            Token::Sign("+") => {
                self.advance()?;
                self.expression(precedence::SIGN)
            }
            Token::Sign("~") => {
                self.advance()?;
                let operand = self.expression(precedence::BITS + 1)?;
                let operation = Binary::Integral(Integral::Xor);
                node(
                    at,
                    [operand.depth],
                    with_constant(operation, -1, operand.expression, at),
                )
            }
            Token::Keyword("not") => {
                self.advance()?;
                let operand = self.expression(precedence::NOT)?;
                node(
                    at,
                    [operand.depth],
                    Expression::Unary {
                        operation: Unary::Not,
                        operand: Box::new(operand.expression),
                        at: at as u32,
                    },
                )
            }
            Token::Sign("(") => {
                self.advance()?;
                let inner = self.expression(precedence::OR)?;
                self.expect(Token::Sign(")"))?;
                Ok(inner)
            }
            Token::Keyword("case") => self.case(at),
            Token::Name(name) => self.call(at, name),
            Token::Null => self.constant(Scalar::Null),
            Token::Bool(value) => self.constant(Scalar::Bool(value)),
            Token::Int(value) => self.constant(Scalar::Int(value)),
            Token::Double(value) => self.constant(Scalar::Double(value)),
            Token::Variable(name) => {
                self.advance()?;
                leaf(Expression::Variable {
                    id: self.symbols.intern(name),
                    at: at as u32,
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn constant(&mut self, value: Scalar) -> Result<Node, Box<Mistake>> {
        self.advance()?;
        Ok(Node {
            expression: Expression::Constant(value),
            depth: 1,
        })
    }

    fn case(&mut self, at: usize) -> Result<Node, Box<Mistake>> {
        self.advance()?;
        let mut branches = Vec::new();
        let mut depth = 0;
        while branches.is_empty() || self.next.1 == Token::Keyword("when") {
            self.expect(Token::Keyword("when"))?;
            let condition = self.expression(precedence::OR)?;
            self.expect(Token::Keyword("then"))?;
            let result = self.expression(precedence::OR)?;
            depth = depth.max(condition.depth).max(result.depth);
            branches.push((condition.expression, result.expression));
        }
        let mut otherwise = Expression::Constant(Scalar::Null);
        if self.next.1 == Token::Keyword("else") {
            self.advance()?;
            let node = self.expression(precedence::OR)?;
            depth = depth.max(node.depth);
            otherwise = node.expression;
        }
        self.expect(Token::Keyword("end"))?;
        node(
            at,
            [depth],
            Expression::Case {
                branches: branches.into(),
                otherwise: Box::new(otherwise),
            },
        )
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Node, Box<Mistake>> {
        let Some(&(name, function)) = FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
            let hint = nearest(name, functions()).map_or(String::new(), |known| format!(", did you mean {known}?"));
            let mistake = Mistake::new(at, format!("unexpected function name ({name}){hint}"));
            return Err(mistake
                .pgbench(format!("unexpected function name ({name})"))
                .shown(Shown::Caret(at + name.len() - 1)));
        };
        self.advance()?;
        self.expect(Token::Sign("("))?;
        let mut arguments = Vec::new();
        let mut depth = 0;
        // A comma before the first argument is no mistake in pgbench.
        if self.next.1 == Token::Sign(",") {
            self.advance()?;
        }
        if self.next.1 != Token::Sign(")") {
            loop {
                let argument = self.expression(precedence::OR)?;
                depth = depth.max(argument.depth);
                arguments.push(argument.expression);
                if self.next.1 != Token::Sign(",") {
                    break;
                }
                self.advance()?;
            }
        }
        let closed = self.next.0;
        self.expect(Token::Sign(")"))?;
        let call = self.apply(at, name, function, arguments);
        node(
            at,
            [depth],
            call.map_err(|mistake| mistake.shown(Shown::Caret(closed)))?,
        )
    }

    fn apply(
        &mut self,
        at: usize,
        name: &str,
        function: Function,
        mut arguments: Vec<Expression>,
    ) -> Result<Expression, Box<Mistake>> {
        let place = at as u32;
        // The seed of hashes and permutations may be left out.
        let seeded = match function {
            Function::Hash(_) => 2,
            Function::Permute => 3,
            _ => 0,
        };
        if arguments.len() + 1 == seeded {
            arguments.push(Expression::Variable {
                id: self.symbols.intern("default_seed"),
                at: place,
            });
        }
        let wrong = |_| Mistake::new(at, format!("unexpected number of arguments ({name})"));
        Ok(match function {
            Function::Pi => {
                let [] = exactly(arguments).map_err(wrong)?;
                Expression::Constant(Scalar::Double(std::f64::consts::PI))
            }
            Function::Debug => {
                let [operand] = exactly(arguments).map_err(wrong)?;
                Expression::Debug(Box::new(operand))
            }
            Function::Unary(operation) => {
                let [operand] = exactly(arguments).map_err(wrong)?;
                Expression::Unary {
                    operation,
                    operand: Box::new(operand),
                    at: place,
                }
            }
            Function::Binary(operation) => {
                let operands = Box::new(exactly(arguments).map_err(wrong)?);
                Expression::Binary {
                    operation,
                    operands,
                    at: place,
                }
            }
            Function::Hash(hash) => {
                let operands = Box::new(exactly(arguments).map_err(wrong)?);
                Expression::Binary {
                    operation: Binary::Integral(hash),
                    operands,
                    at: place,
                }
            }
            Function::Distribution(distribution) => {
                let operands = Box::new(exactly(arguments).map_err(wrong)?);
                Expression::Random {
                    distribution,
                    operands,
                    at: place,
                }
            }
            Function::Permute => {
                let operands = Box::new(exactly(arguments).map_err(wrong)?);
                Expression::Permute { operands, at: place }
            }
            Function::Extremum { .. } if arguments.is_empty() => {
                return Err(Mistake::new(at, format!("at least one argument expected ({name})")));
            }
            Function::Extremum { greatest } => Expression::Extremum {
                greatest,
                operands: arguments.into(),
                at: place,
            },
        })
    }
}

impl Infix {
    fn build(self, left: Expression, right: Expression, at: usize) -> Expression {
        let at = at as u32;
        match self {
            Infix::Or => Expression::Or {
                operands: Box::new([left, right]),
                at,
            },
            Infix::And => Expression::And {
                operands: Box::new([left, right]),
                at,
            },
            Infix::Binary(operation) => Expression::Binary {
                operation,
                operands: Box::new([left, right]),
                at,
            },
            Infix::Swapped(operation) => Expression::Binary {
                operation,
                operands: Box::new([right, left]),
                at,
            },
        }
    }
}

/// The operator that a token is between two operands, and how strongly it binds.
fn infix(token: Token<'_>) -> Option<(Infix, u8)> {
    use precedence::{AND, BITS, COMPARE, OR, PRODUCT, SUM};
    let overloaded = |operation| Infix::Binary(Binary::Overloaded(operation));
    let integral = |operation| Infix::Binary(Binary::Integral(operation));
    let swapped = |operation| Infix::Swapped(Binary::Overloaded(operation));
    Some(match token {
        Token::Keyword("or") => (Infix::Or, OR),
        Token::Keyword("and") => (Infix::And, AND),
        Token::Sign("<") => (overloaded(Overloaded::Less), COMPARE),
        Token::Sign("<=") => (overloaded(Overloaded::LessOrEqual), COMPARE),
        Token::Sign(">") => (swapped(Overloaded::Less), COMPARE),
        Token::Sign(">=") => (swapped(Overloaded::LessOrEqual), COMPARE),
        Token::Sign("=") => (overloaded(Overloaded::Equal), COMPARE),
        Token::Sign("<>" | "!=") => (overloaded(Overloaded::NotEqual), COMPARE),
        Token::Sign("|") => (integral(Integral::Or), BITS),
        Token::Sign("#") => (integral(Integral::Xor), BITS),
        Token::Sign("&") => (integral(Integral::And), BITS),
        Token::Sign("<<") => (integral(Integral::ShiftLeft), BITS),
        Token::Sign(">>") => (integral(Integral::ShiftRight), BITS),
        Token::Sign("+") => (overloaded(Overloaded::Add), SUM),
        Token::Sign("-") => (overloaded(Overloaded::Subtract), SUM),
        Token::Sign("*") => (overloaded(Overloaded::Multiply), PRODUCT),
        Token::Sign("/") => (overloaded(Overloaded::Divide), PRODUCT),
        Token::Sign("%") => (integral(Integral::Modulo), PRODUCT),
        _ => return None,
    })
}

fn with_constant(operation: Binary, constant: i64, operand: Expression, at: usize) -> Expression {
    let operands = Box::new([Expression::Constant(Scalar::Int(constant)), operand]);
    Expression::Binary {
        operation,
        operands,
        at: at as u32,
    }
}

fn exactly<const N: usize>(arguments: Vec<Expression>) -> Result<[Expression; N], Vec<Expression>> {
    arguments.try_into()
}

/// A tree one level above its parts.
fn node<const N: usize>(at: usize, depths: [usize; N], expression: Expression) -> Result<Node, Box<Mistake>> {
    let depth = depths.into_iter().max().unwrap_or(0) + 1;
    if depth > MAX_DEPTH {
        Err(too_deep(at))
    } else {
        Ok(Node { expression, depth })
    }
}

fn too_deep(at: usize) -> Box<Mistake> {
    let message = format!("expression is too deep, at most {MAX_DEPTH} levels are possible");
    Mistake::new(at, message).shown(Shown::Caret(at))
}

/// The known name that `name` was most likely meant to be.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A name may be as long as the file, and the comparison takes time in proportion.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    known
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .filter(|&(distance, known)| distance <= known.len().div_ceil(3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}
