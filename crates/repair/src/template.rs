//! The templates of edits: how likely each is the fix, and what kind of edit it makes.

/// The template of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    /// Reverts a part of the pull request.
    Revert,
    /// Reverts what the pull request is for: all of it, or a definition that it adds.
    TakeBack,
    /// What a tool suggests without being sure.
    Suggested,
    /// What a message about the code hints at: another name, an import, a token.
    Hint,
    /// Waits for an asynchronous call.
    Await,
    /// Includes or excludes a bound: `<` and `<=`, `..` and `..=`.
    Bound,
    /// `n - 1` becomes `n`.
    DropOne,
    /// `n` becomes `n + 1`, in a range, slice or subscript.
    ShiftPosition,
    /// The same in any other position.
    ShiftValue,
    /// A number changes by one, or between 0 and 1.
    Constant,
    /// A number changes in any other way.
    OtherConstant,
    Truth,
    Comparison,
    Logical,
    Arithmetic,
    Augmented,
    OtherOperator,
    /// An operator that is seldom mistaken for the other.
    RareOperator,
    /// Adds or removes a sign.
    Sign,
    DropNegation,
    Negate,
    Arguments,
    Method,
    Attribute,
    Operands,
    Variable,
    /// `break` becomes `continue`, or vice versa.
    Jump,
    /// Another text of the file, or the same text without surrounding characters.
    Text,
    /// Any other text.
    OtherText,
    /// A value for `None`, `null` or the like.
    Something,
    /// An empty list for one that is added to later.
    Start,
    /// Content for an empty collection.
    Filling,
    /// A text that matches what a failure says was expected.
    Expected,
    /// A different error is caught or raised.
    Exception,
    /// A method is bound to its object, its class or nothing.
    Binding,
    /// Adds or removes a bound of a slice.
    Slice,
    /// Adds or removes an argument of a call.
    ArgumentCount,
    /// `f(x)` becomes `x`.
    Unwrap,
    /// `x` becomes `f(x)`.
    Wrap,
    /// Something else is returned.
    Return,
    /// A result that got lost is kept or returned.
    Result,
    /// Whether there is a value at all, instead of whether it counts as true.
    Presence,
    /// A condition in place of a constant one.
    Condition,
    /// A body for a function with a trivial one.
    Body,
    /// An expression from elsewhere in the file.
    Donor,
    /// An expression from elsewhere that is derived from the same variable.
    Derived,
    /// An expression combined with a variable, or with itself.
    Combined,
    /// A part of a sequence.
    Sliced,
    /// The greater or lesser of a value and another one.
    Extreme,
    /// A function of the file applied to a value, or one applied to both sides of a comparison.
    Call,
    /// An empty list in a list.
    Shape,
    /// An empty value in place of a missing one.
    Fallback,
    /// A constant becomes a small expression over variables.
    Computed,
    /// Another operand of a condition.
    Conjunct,
    /// An operator together with the number beside it, or two indices.
    TwoTokens,
    /// Elements, indices or concatenated texts in the other order.
    Order,
    /// The same operators and operands, grouped in another way.
    Grouping,
    /// The same edit at several places.
    Repeated,
    /// A statement that is assembled like others of the function.
    Missing,
    /// Moves a statement before or after another, or in or out of a block.
    Move,
    /// Moves the last statement of a loop after it.
    Leave,
    /// A statement from elsewhere in the file.
    Statement,
    /// An early return.
    Guard,
    /// Removes a condition or an operand: seldom a fix, often just silence.
    Removal,
    /// Removes a statement.
    Surplus,
}

/// The kind of an edit, regardless of what it edits.
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
    /// It follows from a message about the code.
    Hint,
}

impl Template {
    /// How likely the edit is the fix if it is on the faulty line. The figures only order candidates.
    pub(crate) fn prior(self) -> f32 {
        match self {
            Self::Revert | Self::TakeBack | Self::Bound | Self::Suggested | Self::Hint => 1.0,
            Self::DropOne => 0.95,
            Self::Logical | Self::Arithmetic | Self::Await => 0.85,
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
            | Self::Presence
            | Self::Binding => 0.5,
            Self::ShiftValue
            | Self::Variable
            | Self::Operands
            | Self::Sign
            | Self::Repeated
            | Self::Order
            | Self::Grouping => 0.45,
            Self::Derived
            | Self::Result
            | Self::Leave
            | Self::Combined
            | Self::TwoTokens
            | Self::Shape
            | Self::Missing => 0.4,
            Self::Sliced
            | Self::Extreme
            | Self::Call
            | Self::Computed
            | Self::Conjunct
            | Self::Wrap
            | Self::Fallback => 0.38,
            Self::Slice | Self::Unwrap => 0.35,
            Self::OtherConstant | Self::ArgumentCount => 0.36,
            Self::RareOperator | Self::OtherText | Self::Return => 0.3,
            Self::Donor => 0.25,
            Self::Removal | Self::Move => 0.2,
            Self::Guard | Self::Statement | Self::Surplus => 0.15,
        }
    }

    /// The kind of edit, for judging its risk.
    pub(crate) fn kind(self) -> EditKind {
        match self {
            Self::Revert | Self::TakeBack => EditKind::Revert,
            Self::Suggested | Self::Hint => EditKind::Hint,
            Self::Bound
            | Self::Await
            | Self::Comparison
            | Self::Logical
            | Self::Arithmetic
            | Self::Augmented
            | Self::OtherOperator
            | Self::RareOperator
            | Self::Arguments
            | Self::Operands
            | Self::Order
            | Self::Grouping
            | Self::TwoTokens
            | Self::Repeated
            | Self::Jump => EditKind::Swap,
            Self::DropOne | Self::ShiftPosition | Self::ShiftValue => EditKind::Shift,
            Self::Constant
            | Self::OtherConstant
            | Self::Truth
            | Self::Start
            | Self::Shape
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
            | Self::Presence
            | Self::Binding
            | Self::Slice
            | Self::ArgumentCount
            | Self::Wrap
            | Self::Combined
            | Self::Sliced
            | Self::Extreme
            | Self::Call
            | Self::Computed
            | Self::Conjunct
            | Self::Missing
            | Self::Move
            | Self::Leave
            | Self::Return
            | Self::Result => EditKind::Replacement,
            Self::Unwrap | Self::Removal | Self::Surplus => EditKind::Removal,
            Self::Condition | Self::Body | Self::Donor | Self::Derived => EditKind::Donor,
            Self::Statement | Self::Guard | Self::Fallback => EditKind::Insertion,
        }
    }
}

/// An operator, and its likely alternatives.
pub(crate) type Swap = (&'static str, &'static [(&'static str, Template)]);
