# SPDX-License-Identifier: Apache-2.0
"""XGBoost and LightGBM by onnxmltools: objectives, boosters, missing values."""

import functools

import lightgbm
import numpy as np
import onnxmltools
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from zoo_makers.made import Made

ROWS, COLUMNS = 60, 5


def data(target, has_missing):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    score = x @ np.array([1.0, -2.0, 0.5, 1.5, 0.1])
    y = {"number": score, "positive": np.exp(score / 4), "two": (score > 0).astype(int), "three": np.digitize(score, [-1, 1])}[target]
    if has_missing:
        x[::7, 1] = np.nan
    return x, y


def xgb(make, target, has_missing, **parameters) -> Made:
    x, y = data(target, has_missing)
    model = make(n_estimators=8, max_depth=3, **parameters).fit(x, y)
    return Made(onnxmltools.convert_xgboost(model, initial_types=[("X", FloatTensorType([None, COLUMNS]))]), {"X": x})


def lgbm(make, target, has_missing, options=None, **parameters) -> Made:
    x, y = data(target, has_missing)
    model = make(n_estimators=8, min_child_samples=3, verbose=-1, **parameters).fit(x, y)
    return Made(onnxmltools.convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, COLUMNS]))], **(options or {})), {"X": x})


def models():
    for has_missing in (False, True):
        tail = " missing" if has_missing else ""
        for target in ("two", "three"):
            for booster in ("gbtree", "dart"):
                yield f"xgb classifier {target} {booster}{tail}", functools.partial(xgb, xgboost.XGBClassifier, target, has_missing, booster=booster)
            yield f"xgb forest classifier {target}{tail}", functools.partial(xgb, xgboost.XGBRFClassifier, target, has_missing)
        for objective, target in {
            "reg:squarederror": "number",
            "reg:pseudohubererror": "number",
            "reg:absoluteerror": "number",
            "reg:tweedie": "positive",
            "reg:gamma": "positive",
            "count:poisson": "positive",
            "reg:logistic": "two",
            "reg:squaredlogerror": "positive",
        }.items():
            yield f"xgb regressor {objective}{tail}", functools.partial(xgb, xgboost.XGBRegressor, target, has_missing, objective=objective)
        yield f"xgb forest regressor{tail}", functools.partial(xgb, xgboost.XGBRFRegressor, "number", has_missing)
        for target in ("two", "three"):
            for boosting in ("gbdt", "dart", "rf"):
                more = {"subsample": 0.7, "subsample_freq": 1} if boosting == "rf" else {}
                yield f"lgbm classifier {target} {boosting}{tail}", functools.partial(
                    lgbm, lightgbm.LGBMClassifier, target, has_missing, boosting_type=boosting, **more
                )
            yield f"lgbm classifier {target} zipmap off{tail}", functools.partial(lgbm, lightgbm.LGBMClassifier, target, has_missing, {"zipmap": False})
        for objective, target in {
            "regression": "number",
            "regression_l1": "number",
            "huber": "number",
            "fair": "number",
            "quantile": "number",
            "poisson": "positive",
            "gamma": "positive",
            "tweedie": "positive",
            "mape": "positive",
            "cross_entropy": "two",
        }.items():
            yield f"lgbm regressor {objective}{tail}", functools.partial(lgbm, lightgbm.LGBMRegressor, target, has_missing, objective=objective)
