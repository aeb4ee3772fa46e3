//! The violations of single parameters of a request.

/// A violation of one parameter of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub code: ViolationCode,
    /// The parameter as a path: `location.radius`.
    pub param: String,
    /// The problem, and the expected value.
    pub message: String,
}

/// The ways in which a parameter can be invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
pub enum ViolationCode {
    #[strum(serialize = "parameter_missing")]
    Missing,
    #[strum(serialize = "parameter_unknown")]
    Unknown,
    #[strum(serialize = "parameter_invalid")]
    Invalid,
}

impl Violation {
    /// Returns the violation of a parameter that is required and absent.
    pub fn missing(param: impl Into<String>) -> Self {
        Self {
            code: ViolationCode::Missing,
            param: param.into(),
            message: "is required".to_owned(),
        }
    }
}

impl ViolationCode {
    pub const ALL: [Self; 3] = [Self::Missing, Self::Unknown, Self::Invalid];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns a description of the condition.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Missing => "A required parameter is not in the request.",
            Self::Unknown => "The operation does not have a parameter of this name.",
            Self::Invalid => "The value has the wrong type or breaks a rule of the parameter.",
        }
    }

    /// Returns the remedy for the client.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing => "Add the parameter that param names.",
            Self::Unknown => {
                "Remove the parameter, or correct its name: message lists those of the operation."
            }
            Self::Invalid => "Correct the value as message says.",
        }
    }
}
