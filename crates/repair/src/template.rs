//! The ideas behind edits: how likely each is the fix, and what kind of edit it is.

/// The idea behind an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    /// A part of the pull request put back as it was.
    Revert,
    /// Whether a bound belongs to what it bounds: `<` and `<=`, `..` and `..=`.
    Bound,
    /// `n - 1` where it should be `n`.
    DropOne,
    /// `n` where it should be `n + 1`, in a range, slice or subscript.
    ShiftPosition,
    /// The same anywhere else.
    ShiftValue,
    /// A number that is one off, 0 for 1.
    Constant,
    /// Any other number.
    OtherConstant,
    Truth,
    Comparison,
    Logical,
    Arithmetic,
    Augmented,
    OtherOperator,
    /// An operator that is seldom written for the other by mistake.
    RareOperator,
    /// A sign added or dropped.
    Sign,
    DropNegation,
    Negate,
    Arguments,
    Method,
    Attribute,
    Operands,
    Variable,
    /// `break` for `continue`.
    Jump,
    /// Another text of the file, or the same without what stands around it.
    Text,
    /// Any other text.
    OtherText,
    /// Something for `None`, `null` or what else says that there is nothing.
    Something,
    /// Nothing to start from, for a list that is added to.
    Start,
    /// What a collection holds that holds nothing.
    Filling,
    /// A text made to give what a failure says was expected.
    Expected,
    /// Another error that is caught or raised.
    Exception,
    /// A method bound to its object, its class or nothing.
    Binding,
    /// A slice with a bound more or less.
    Slice,
    /// A call with an argument more or less.
    ArgumentCount,
    /// `f(x)` becomes `x`.
    Unwrap,
    /// `x` becomes `f(x)`.
    Wrap,
    /// Something else is given back.
    Return,
    /// A condition for one that is always or never met.
    Condition,
    /// A body for a function with an empty effect.
    Body,
    /// An expression that stands elsewhere in the file.
    Donor,
    /// One of those for the variable that it is made of.
    Derived,
    /// A statement before or after another, or in or out of a block.
    Move,
    /// A statement that stands elsewhere in the file.
    Statement,
    /// An early return.
    Guard,
    /// Takes a condition or an operand away: seldom a fix, often just silence.
    Removal,
    /// Takes a statement away.
    Surplus,
}

/// What an edit does, no matter what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditKind {
    Swap,
    Shift,
    Constant,
    Negation,
    Replacement,
    Insertion,
    Removal,
    Donor,
    Revert,
}

impl Template {
    /// How likely the edit is the fix when it lands on the faulty line: the figures order candidates, nothing more.
    pub(crate) fn prior(self) -> f32 {
        match self {
            Self::Revert | Self::Bound => 1.0,
            Self::DropOne => 0.95,
            Self::Logical | Self::Arithmetic => 0.85,
            Self::ShiftPosition | Self::DropNegation | Self::Constant => 0.8,
            Self::Comparison | Self::Augmented => 0.75,
            Self::Method | Self::Truth | Self::Jump | Self::Condition | Self::Body => 0.7,
            Self::Arguments | Self::Something => 0.65,
            Self::Negate => 0.6,
            Self::Attribute
            | Self::OtherOperator
            | Self::Text
            | Self::Start
            | Self::Filling
            | Self::Expected
            | Self::Exception
            | Self::Binding => 0.5,
            Self::ShiftValue | Self::Variable | Self::Operands | Self::Sign => 0.45,
            Self::Derived => 0.4,
            Self::Slice | Self::Unwrap => 0.35,
            Self::OtherConstant | Self::RareOperator | Self::OtherText | Self::Return => 0.3,
            Self::ArgumentCount | Self::Donor => 0.25,
            Self::Removal | Self::Wrap | Self::Move => 0.2,
            Self::Guard | Self::Statement | Self::Surplus => 0.15,
        }
    }

    /// What the edit does, for those who judge its risk.
    pub(crate) fn kind(self) -> EditKind {
        match self {
            Self::Revert => EditKind::Revert,
            Self::Bound
            | Self::Comparison
            | Self::Logical
            | Self::Arithmetic
            | Self::Augmented
            | Self::OtherOperator
            | Self::RareOperator
            | Self::Arguments
            | Self::Operands
            | Self::Jump => EditKind::Swap,
            Self::DropOne | Self::ShiftPosition | Self::ShiftValue => EditKind::Shift,
            Self::Constant
            | Self::OtherConstant
            | Self::Truth
            | Self::Start
            | Self::Text
            | Self::OtherText
            | Self::Expected => EditKind::Constant,
            Self::Sign | Self::DropNegation | Self::Negate => EditKind::Negation,
            Self::Method
            | Self::Attribute
            | Self::Variable
            | Self::Something
            | Self::Filling
            | Self::Exception
            | Self::Binding
            | Self::Slice
            | Self::ArgumentCount
            | Self::Wrap
            | Self::Move
            | Self::Return => EditKind::Replacement,
            Self::Unwrap | Self::Removal | Self::Surplus => EditKind::Removal,
            Self::Condition | Self::Body | Self::Donor | Self::Derived => EditKind::Donor,
            Self::Statement | Self::Guard => EditKind::Insertion,
        }
    }
}

/// An operator, and what it may have been meant to be.
pub(crate) type Swap = (&'static str, &'static [(&'static str, Template)]);
